import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * A log file that is appended to synchronously. Not pino's own destination, because its reopen() closes the old file
 * twice after a try that failed, and its write errors end the process unless somebody listens: a full disk must stop
 * neither the proxy nor the log for good, so a line that cannot be written is dropped and the next one is tried again.
 */
export class LogFile {
  readonly #path: string;
  #fd: number;

  /** @throws the error of node:fs when the file cannot be opened for appending. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'a');
  }

  write(line: string): void {
    let rest = Buffer.from(line);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch {
      // Nowhere to report it to: this is the log.
    }
  }

  /**
   * Opens the path anew, after logrotate or the like has moved the file away.
   *
   * @throws the error of node:fs when that fails; the old file stays in use.
   */
  reopen(): void {
    const fresh = openSync(this.#path, 'a');
    closeSync(this.#fd);
    this.#fd = fresh;
  }
}
