import type { HttpResponse } from '../../src/edge/uws.ts';

/** The part of a uWebSockets.js response that the exchange uses, for a client whose slowness the test decides. */
export class StubResponse {
  /** While true the client takes nothing more. */
  isSlow = false;
  isEnded = false;
  isClosed = false;
  isPaused = false;
  status = '200 OK';
  body = '';
  #sentBytes = 0;
  #onAborted: (() => void) | undefined;
  #onWritable: (() => boolean) | undefined;
  #onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;

  get asResponse(): HttpResponse {
    return this as unknown as HttpResponse;
  }

  /** The client goes away. */
  abort(): void {
    this.#onAborted!();
  }

  /** The client takes what was held up, and more. */
  drain(): void {
    this.isSlow = false;
    this.#onWritable!();
  }

  /** The client sends a part of its body. */
  receive(text: string, isLast: boolean): void {
    this.#onData!(new TextEncoder().encode(text).buffer as ArrayBuffer, isLast);
  }

  cork(write: () => void): void {
    write();
  }

  onAborted(handler: () => void): void {
    this.#onAborted = handler;
  }

  onWritable(handler: () => boolean): void {
    this.#onWritable = handler;
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#onData = handler;
  }

  writeStatus(status: string | Buffer): void {
    this.status = status.toString();
  }

  writeHeader(): void {}

  /** As in uWebSockets.js: what the client does not take is queued, and false asks to wait. */
  write(chunk: Buffer): boolean {
    this.body += chunk.toString('latin1');
    return !this.isSlow;
  }

  tryEnd(chunk: Buffer, total: number): [boolean, boolean] {
    if (this.isSlow) return [false, false];
    this.body += chunk.toString('latin1');
    this.#sentBytes += chunk.length;
    this.isEnded = this.#sentBytes === total;
    return [true, this.isEnded];
  }

  getWriteOffset(): number {
    return this.#sentBytes;
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined) this.body += chunk.toString('latin1');
    this.isEnded = true;
  }

  endWithoutBody(): void {
    this.isEnded = true;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(): void {
    this.isClosed = true;
    this.#onAborted?.();
  }
}
