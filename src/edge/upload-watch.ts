/** A request body that is still arriving. */
export interface WatchedUpload {
  /** Called each second while it is watched. `now` is in the clock of `performance.now()`. */
  sweep(now: number, idleTimeoutMs: number): void;
}

export interface UploadLimits {
  /** Most bytes of one body; 0 means no limit. */
  readonly maxBodyBytes: number;
  /** Milliseconds that a client may be silent in the middle of its body. */
  readonly uploadIdleTimeoutMs: number;
}

/** Uploads are dropped up to this much later than their timeout says. */
const SWEEP_INTERVAL_MS = 1000;

/** Looks through the uploads in progress with one timer for all of them, which runs only while there are any. */
export class UploadWatch {
  /** Infinity for no limit. */
  readonly maxBodyBytes: number;
  readonly #idleTimeoutMs: number;
  readonly #uploads = new Set<WatchedUpload>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(limits: UploadLimits) {
    this.maxBodyBytes = limits.maxBodyBytes === 0 ? Number.POSITIVE_INFINITY : limits.maxBodyBytes;
    this.#idleTimeoutMs = limits.uploadIdleTimeoutMs;
  }

  add(upload: WatchedUpload): void {
    this.#uploads.add(upload);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
  }

  delete(upload: WatchedUpload): void {
    this.#uploads.delete(upload);
  }

  #sweep(): void {
    const now = performance.now();
    for (const upload of this.#uploads) upload.sweep(now, this.#idleTimeoutMs);
    if (this.#uploads.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
