import { withTimeout } from './timeout.ts';

/** The bytes ended before what was asked for had come. */
export class EndOfBytes extends Error {
  readonly pending: Buffer;

  constructor(what: string, pending: Buffer) {
    super(`the connection ended while waiting for ${what}; unread: ${preview(pending)}`);
    this.name = 'EndOfBytes';
    this.pending = pending;
  }
}

/** Collects what a socket gives and hands it out in pieces: by pattern, by count, or to the end. One reader at a time. */
export class ByteReader {
  #chunks: Buffer[] = [];
  #pendingLength = 0;
  #isEnded = false;
  #wake: (() => void) | undefined;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#pendingLength += chunk.length;
    this.#wake?.();
  }

  /** No more bytes will come. */
  finish(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** What came and was not read yet. */
  get pending(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }

  /** Reads up to and with `mark`, a text or a function that finds the end in the bytes that came (-1: not yet). */
  async readUntil(mark: string | ((bytes: Buffer) => number), what = describe(mark), ms = 5000): Promise<Buffer> {
    const endOf =
      typeof mark === 'string'
        ? (bytes: Buffer) => {
            const at = bytes.indexOf(mark, 0, 'latin1');
            return at === -1 ? -1 : at + mark.length;
          }
        : mark;
    let end = endOf(this.pending);
    while (end === -1) {
      await this.#more(what, ms);
      end = endOf(this.pending);
    }
    return this.#take(end);
  }

  async readExactly(count: number, what = `${count} bytes`, ms = 5000): Promise<Buffer> {
    while (this.#pendingLength < count) await this.#more(what, ms);
    return this.#take(count);
  }

  async readToEnd(what = 'the end of the connection', ms = 5000): Promise<Buffer> {
    while (!this.#isEnded) await this.#more(what, ms);
    return this.#take(this.#pendingLength);
  }

  /** Waits for at least one unread byte; false when the bytes ended without one. */
  async hasMore(what = 'another byte', ms = 5000): Promise<boolean> {
    while (this.#pendingLength === 0 && !this.#isEnded) await this.#more(what, ms);
    return this.#pendingLength > 0;
  }

  #take(count: number): Buffer {
    const all = this.pending;
    this.#chunks = [all.subarray(count)];
    this.#pendingLength -= count;
    return all.subarray(0, count);
  }

  async #more(what: string, ms: number): Promise<void> {
    if (this.#isEnded) throw new EndOfBytes(what, this.pending);
    const news = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await withTimeout(news, () => `${what}; unread: ${preview(this.pending)}`, ms);
  }
}

export function preview(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString('latin1', 0, 600));
  return bytes.length > 600 ? `${text} … (${bytes.length} bytes)` : text;
}

function describe(mark: string | ((bytes: Buffer) => number)): string {
  return typeof mark === 'string' ? JSON.stringify(mark) : 'what the function looks for';
}
