/** A response whose client does not take what is to be written. */
export interface SlowReader {
  /** Since when the client has taken nothing, in the clock of `performance.now()`. */
  readonly blockedSince: number;
  /** Starts uWebSockets.js's 10 s anew. */
  keepWaiting(): void;
  /** The client has taken nothing for too long. */
  giveUp(): void;
}

/**
 * uWebSockets.js gives up a client that took nothing for 10 s, which it can notice after 8 s. That is too soon: behind a
 * router the kernel holds megabytes for the client, and tells of room only when a third of them is gone.
 */
const SWEEP_INTERVAL_MS = 4000;
/** What nginx (`send_timeout`) and others grant. */
const PATIENCE_MS = 60_000;

/** Keeps slow clients, with one timer for all of them that runs only while there are any. */
class SlowReaders {
  readonly #readers = new Set<SlowReader>();
  #sweeper: NodeJS.Timeout | undefined;

  add(reader: SlowReader): void {
    this.#readers.add(reader);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
  }

  delete(reader: SlowReader): void {
    this.#readers.delete(reader);
  }

  #sweep(): void {
    const now = performance.now();
    for (const reader of this.#readers) {
      if (now - reader.blockedSince >= PATIENCE_MS) reader.giveUp();
      else reader.keepWaiting();
    }
    if (this.#readers.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

export const slowReaders = new SlowReaders();
