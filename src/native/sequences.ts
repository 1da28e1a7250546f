/** Senders that are remembered; instances come and go, and each has a new name. */
const MAX_SENDERS = 1000;

/** Tells of numbered messages of several senders which come again, and how many are missing. */
export class Sequences {
  /** The last number of each sender, in the order in which they were last heard. */
  readonly #last = new Map<string, number>();

  /**
   * Gives how many of the sender's messages are missing before this one, or undefined when it is to be dropped: it came
   * before, or after a later one. Of a sender that was never heard nothing is missing.
   */
  accept(sender: string, sequence: number): number | undefined {
    const last = this.#last.get(sender);
    if (last !== undefined && sequence <= last) return undefined;
    this.#last.delete(sender);
    this.#last.set(sender, sequence);
    if (this.#last.size > MAX_SENDERS) this.#last.delete(this.#last.keys().next().value!);
    return last === undefined ? 0 : sequence - last - 1;
  }
}
