import type { LocalAnswer } from '../proxy/local-answer.ts';
import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import { copyFramed, UploadMemory } from './upload-memory.ts';
import type { UploadWatch, WatchedUpload } from './upload-watch.ts';
import type { HttpResponse } from './uws.ts';

/** What a body tells the exchange that it belongs to. */
export interface RequestBodyOwner {
  /** The client has sent the last byte; what of it waits here is still to go to the app. */
  onBodyReceived(): void;
  /** More bytes came than the limit allows; none of them beyond it goes on. */
  onBodyTooLarge(): void;
  /** The client has sent nothing for too long. */
  onBodySilent(): void;
  /** The app has taken nothing for too long, and the client is held back. */
  onBodyStalled(): void;
}

/** Most bytes that wait here for the app before the client is held back. */
const HIGH_WATER_MARK = 64 * 1024;

/**
 * How long the app may take nothing of a body. Long, since the fault is not the client's; but a client that is held back
 * is not seen to leave (uWebSockets.js does not poll a paused socket, not even for a reset), and without a limit it would
 * be kept for ever.
 */
const APP_STALL_LIMIT_MS = 5 * 60_000;

/** What is still read, and dropped, of a client that was given its answer in the middle of its upload. */
const MAX_LINGER_BYTES = 64 * 1024 * 1024;
const MAX_LINGER_MS = 10_000;
const MAX_LINGER_SILENCE_MS = 2000;

/** The kernel takes as much as this of an answer at once; of a larger one some may wait in uWebSockets.js. */
const SURELY_SENT_BYTES = 16 * 1024;

/**
 * uWebSockets.js drops a body slower than 16 KiB/s, counted over 10 s, which it can notice after 8 s. A pause with a
 * resume starts that time anew, so that only silence counts, and only as UWSRP_UPLOAD_IDLE_TIMEOUT says.
 */
const REARM_INTERVAL_MS = 4000;

/**
 * Hands one request's body on to the app as it comes, framed as the client framed it, and holds the client back while
 * the app is slow or not connected yet.
 */
export class RequestBody implements WatchedUpload {
  /** The client has sent all of it. */
  isComplete = false;
  /** Set before the first byte can come: in the tick in which the body was made. */
  owner: RequestBodyOwner | undefined;
  /** Called when the last of it has been handed on. */
  onComplete: (() => void) | undefined;

  readonly #res: HttpResponse;
  readonly #isChunked: boolean;
  /** Made for what comes when there is a connection: a small body is there before. */
  #memory: UploadMemory | undefined;
  readonly #watch: UploadWatch;
  #connection: UpstreamConnection | undefined;
  /** What came before there was a connection, as it is to be written. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** No more is wanted for now; `#isPaused` follows when the current read is over. */
  #isHeldBack = false;
  #receivedBytes = 0;
  #isPaused = false;
  /** When the app could have taken something for the first time since the client is held back. */
  #pausedSince = 0;
  /** `handOn`: to the app; `drop`: nobody wants it; `linger`: the same, and the connection ends with it. */
  #mode: 'handOn' | 'drop' | 'linger' = 'handOn';
  #lingerUntil = 0;
  #isAnswerSent = true;
  #hasNews = true;
  #lastNews = 0;
  #lastRearm = 0;

  /** Registers for the body's bytes: call it in the handler, in the tick in which the request came. */
  constructor(res: HttpResponse, isChunked: boolean, watch: UploadWatch) {
    this.#res = res;
    this.#isChunked = isChunked;
    this.#watch = watch;
    res.onData((chunk, isLast) => this.#onData(chunk, isLast));
    watch.add(this);
  }

  /** The client is held back. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The app is there: sends what waits. */
  attach(connection: UpstreamConnection): void {
    this.#connection = connection;
    let isTaken = true;
    for (const bytes of this.#waiting) isTaken = connection.write(bytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#pausedSince = performance.now();
    if (this.isComplete) this.#finish();
    else if (isTaken) this.#resume();
  }

  /** The app has taken what was sent. */
  onDrain(): void {
    if (this.#mode !== 'handOn') return;
    if (this.#connection !== undefined) this.#memory?.reclaim(this.#connection);
    this.#resume();
  }

  /** Nobody wants the rest: it is read and dropped. Call it while the response is alive, or a pause would stay. */
  dropRest(): void {
    this.#resume();
    this.#release('drop');
  }

  /** The response is dead and must not be touched: uWebSockets.js drops by itself what may still come. */
  stop(): void {
    this.#release('drop');
    this.#watch.delete(this);
  }

  /**
   * The client has its whole answer, though its response is not ended (last-answer.ts). The rest of the body is read
   * and dropped until it is over, or a bound is reached, and then the connection is closed: a close with bytes unread
   * would reset the connection, and could take the answer away from a client that is still sending (RFC 9112 section
   * 9.6). `stop()` must be called when the client is gone.
   */
  linger(answer: Pick<LocalAnswer, 'body'>): void {
    this.#resume();
    this.#release('linger');
    this.#watch.add(this);
    this.#receivedBytes = 0;
    this.#hasNews = true;
    this.#lingerUntil = performance.now() + MAX_LINGER_MS;
    this.#isAnswerSent = answer.body.length <= SURELY_SENT_BYTES;
  }

  sweep(now: number, idleTimeoutMs: number): void {
    if (this.#lastRearm === 0) this.#lastRearm = now;
    // A client that is held back cannot send.
    if (this.#hasNews || this.#isPaused) {
      this.#hasNews = false;
      this.#lastNews = now;
    }
    const silentMs = now - this.#lastNews;
    if (this.#mode === 'linger') {
      const isSilent = this.#isAnswerSent && silentMs >= MAX_LINGER_SILENCE_MS;
      if (isSilent || now >= this.#lingerUntil) this.#closeSoon();
      return;
    }
    if (this.#mode === 'handOn' && silentMs >= idleTimeoutMs) {
      this.owner?.onBodySilent();
      return;
    }
    if (this.#isPaused && this.#connection !== undefined && now - this.#pausedSince >= APP_STALL_LIMIT_MS) {
      this.owner?.onBodyStalled();
      return;
    }
    if (this.#isPaused || now - this.#lastRearm < REARM_INTERVAL_MS) return;
    this.#lastRearm = now;
    this.#res.pause();
    this.#res.resume();
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    this.#hasNews = true;
    this.#receivedBytes += chunk.byteLength;
    if (isLast) {
      this.isComplete = true;
      if (this.#mode !== 'linger') this.#watch.delete(this);
    }
    if (this.#mode === 'linger') {
      if ((isLast && this.#isAnswerSent) || this.#receivedBytes > MAX_LINGER_BYTES) this.#closeSoon();
      return;
    }
    if (this.#mode === 'drop') return;
    if (this.#receivedBytes > this.#watch.maxBodyBytes) {
      this.owner?.onBodyTooLarge();
      return;
    }
    const isTaken = chunk.byteLength === 0 || this.#handOn(new Uint8Array(chunk));
    if (isLast) {
      if (this.#connection !== undefined) this.#finish();
      else this.owner?.onBodyReceived();
    } else if (!isTaken) {
      this.#holdBack();
    }
  }

  /** The memory is uWebSockets.js's own, and dies with this turn. */
  #handOn(bytes: Uint8Array): boolean {
    if (this.#connection !== undefined) {
      this.#memory ??= new UploadMemory(this.#isChunked);
      return this.#memory.send(this.#connection, bytes);
    }
    const copy = copyFramed(bytes, this.#isChunked);
    this.#waiting.push(copy);
    this.#waitingBytes += copy.length;
    return this.#waitingBytes < HIGH_WATER_MARK;
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
      if (!this.#isHeldBack || this.#isPaused || this.#mode !== 'handOn' || this.isComplete) return;
      this.#isPaused = true;
      this.#pausedSince = performance.now();
      this.#res.pause();
    });
  }

  #resume(): void {
    this.#isHeldBack = false;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#res.resume();
  }

  #release(mode: 'drop' | 'linger'): void {
    this.#mode = mode;
    if (this.#connection !== undefined) this.#memory?.reclaim(this.#connection);
    this.#connection = undefined;
    this.#waiting = [];
  }

  /** Not at once: what was written in this turn of the event loop is not on its way yet, and a close would drop it. */
  #closeSoon(): void {
    this.#watch.delete(this);
    setImmediate(() => {
      if (this.#mode !== 'linger') return;
      this.stop();
      this.#res.close();
    });
  }
}
