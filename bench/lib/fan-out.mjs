/** One message to many receivers, the next one when all have it: a loop that keeps itself going. */
export class FanOut {
  #receivers;
  #send;
  #sent = 0;
  #deliveries = 0;
  #isRunning = false;
  #fail;
  #failed = new Promise((_, reject) => {
    this.#fail = reject;
  });

  /** `send()` makes the app send one message to all `receivers`. */
  constructor({ receivers, send }) {
    this.#receivers = receivers;
    this.#send = send;
    this.#failed.catch(() => {});
  }

  /** To be called with the number of messages that came to receivers. */
  delivered(count) {
    this.#deliveries += count;
    const owed = this.#sent * this.#receivers;
    if (this.#deliveries > owed) this.fail(new Error('more was delivered than was sent'));
    if (this.#isRunning && this.#deliveries === owed) this.#sendNext();
  }

  fail(error) {
    this.#fail(error);
  }

  /** Sends for a time; resolves with the number of deliveries. */
  async run(seconds) {
    this.#isRunning = true;
    this.#sendNext();
    await Promise.race([new Promise((resolve) => setTimeout(resolve, seconds * 1000)), this.#failed]);
    this.#isRunning = false;
    if (this.#deliveries < this.#receivers) {
      throw new Error(`${this.#deliveries} deliveries to ${this.#receivers} receivers`);
    }
    return this.#deliveries;
  }

  #sendNext() {
    this.#sent += 1;
    this.#send();
  }
}
