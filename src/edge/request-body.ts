import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import type { HttpResponse } from './uws.ts';

/** Most bytes that wait here for the app before the client is held back. */
const HIGH_WATER_MARK = 64 * 1024;

/** A pause and resume this often keeps uWebSockets.js from dropping a slow client, which it does after 10 s. */
const REARM_INTERVAL_MS = 1000;

/**
 * Hands one request's body on to the app as it comes, framed as the client framed it, and holds the client back while
 * the app is slow or not connected yet.
 */
export class RequestBody {
  /** The client has sent all of it. */
  isComplete = false;
  /** Called when the last of it has been handed on. */
  onComplete: (() => void) | undefined;

  readonly #res: HttpResponse;
  readonly #isChunked: boolean;
  #connection: UpstreamConnection | undefined;
  /** What came before there was a connection. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** No more is wanted for now; `#isPaused` follows when the current read is over. */
  #isHeldBack = false;
  #isPaused = false;
  #isStopped = false;
  #lastRearm = performance.now();

  /** Registers for the body's bytes: call it in the handler, in the tick in which the request came. */
  constructor(res: HttpResponse, isChunked: boolean) {
    this.#res = res;
    this.#isChunked = isChunked;
    res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  /** The app is there: sends what waits. */
  attach(connection: UpstreamConnection): void {
    this.#connection = connection;
    let isTaken = true;
    for (const chunk of this.#waiting) isTaken = this.#send(chunk);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.isComplete) this.#finish();
    else if (isTaken) this.#resume();
  }

  /** The app has taken what was sent. */
  onDrain(): void {
    this.#resume();
  }

  /** Nobody wants the rest: it is read and dropped. Call it while the response is alive, or a pause would stay. */
  dropRest(): void {
    this.#resume();
    this.stop();
  }

  /** The same when the response is dead, and must not be touched. */
  stop(): void {
    this.#isStopped = true;
    this.#connection = undefined;
    this.#waiting = [];
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    this.isComplete = isLast;
    if (this.#isStopped) return;
    // The chunk's memory is uWebSockets.js's own and dies with this call.
    const bytes = Buffer.from(chunk.slice(0));
    let isTaken = true;
    if (bytes.length > 0) {
      if (this.#connection === undefined) {
        this.#waiting.push(bytes);
        this.#waitingBytes += bytes.length;
        isTaken = this.#waitingBytes < HIGH_WATER_MARK;
      } else {
        isTaken = this.#send(bytes);
      }
    }
    if (isLast) {
      if (this.#connection !== undefined) this.#finish();
      return;
    }
    if (isTaken) this.#rearm();
    else this.#holdBack();
  }

  #send(bytes: Buffer): boolean {
    const connection = this.#connection!;
    if (!this.#isChunked) return connection.write(bytes);
    connection.write(`${bytes.length.toString(16)}\r\n`);
    connection.write(bytes);
    return connection.write('\r\n');
  }

  #finish(): void {
    if (this.#isChunked) this.#connection!.write('0\r\n\r\n');
    this.#connection!.finishRequest();
    this.onComplete?.();
  }

  /**
   * Pauses the client, but not at once: the rest of the current read comes in any case, and when the body's last byte is
   * in it, a pause would stay. It could not be lifted before the response is complete either, since a resume starts
   * uWebSockets.js's 10 s anew, and they would end a request that the app takes longer for.
   */
  #holdBack(): void {
    if (this.#isHeldBack) return;
    this.#isHeldBack = true;
    setImmediate(() => {
      if (!this.#isHeldBack || this.#isPaused || this.#isStopped || this.isComplete) return;
      this.#isPaused = true;
      this.#res.pause();
    });
  }

  #resume(): void {
    this.#isHeldBack = false;
    if (!this.#isPaused || this.#isStopped) return;
    this.#isPaused = false;
    this.#lastRearm = performance.now();
    this.#res.resume();
  }

  /**
   * uWebSockets.js drops a body slower than 16 KiB/s, counted over 10 s. A resume starts that time anew, so that only
   * a client which is silent for 10 s is dropped.
   */
  #rearm(): void {
    const now = performance.now();
    if (now - this.#lastRearm < REARM_INTERVAL_MS) return;
    this.#lastRearm = now;
    this.#res.pause();
    this.#res.resume();
  }
}
