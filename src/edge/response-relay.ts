import type { ResponseHead } from '../upstream/response-head.ts';
import type { ResponseSink } from '../upstream/response-parser.ts';
import type { HttpResponse } from './uws.ts';

/** Where the response comes from: it is held back while the client is slow. */
export interface ResponseSource {
  pauseReading(): void;
  resumeReading(): void;
}

/**
 * Whether the client's connection ends with this response. `asked`: uWebSockets.js closes by itself, since the client
 * said `Connection: close`, but says nothing. `ours`: we want it, and uWebSockets.js must be told.
 */
export type Closing = 'no' | 'asked' | 'ours';

export interface ResponseRelayOwner {
  readonly isHeadRequest: boolean;
  /** Asked when the head is written, since a drain may have begun in the meantime. */
  closing(): Closing;
  /** Value of the `Strict-Transport-Security` to add, or undefined. */
  hsts(head: ResponseHead): string | undefined;
  /** Value of the `X-Request-Id` to add, or undefined. */
  requestId(head: ResponseHead): string | undefined;
  /** The last byte is with uWebSockets.js; the response must not be touched any more. */
  onDone(): void;
}

/**
 * A whole answer up to this size is handed over in one call. A larger one goes by `tryEnd`, which tells when the last
 * byte has left for the kernel, so that a stop does not cut it.
 */
const MAX_WHOLE_BYTES = 16 * 1024;

/** How long an event stream without an event waits before its head is sent on with a comment. */
const EVENT_STREAM_HEAD_DELAY_MS = 100;

/**
 * Writes one response from the app to one uWebSockets.js response: the length is kept where it is known, chunked
 * where it is not, and the app is held back while the client is slow, so that at most one read of the app's bytes
 * waits in memory. What comes in one read is written in one cork.
 */
export class ResponseRelay implements ResponseSink {
  /** `head`: nothing is written yet; `body`: the head is out; `done`: ended, aborted or cut. */
  state: 'head' | 'body' | 'done' = 'head';
  /** Final status that the client gets; 0 until the app answered. */
  status = 0;
  /** Body bytes handed to uWebSockets.js. */
  bodyBytes = 0;

  readonly #res: HttpResponse;
  readonly #owner: ResponseRelayOwner;
  #source: ResponseSource | undefined;
  #head: ResponseHead | undefined;
  #isBodiless = false;
  #contentLength = -1;
  #closesByFlag = false;
  #isEnded = false;
  #isBlocked = false;
  #hasWritableHandler = false;
  /** Chunks of the current read: views that die with it. */
  #chunks: Buffer[] = [];
  /** Our copy of what `tryEnd` could not take. */
  #unsent: Buffer | undefined;
  #eventStreamTimer: NodeJS.Timeout | undefined;

  constructor(res: HttpResponse, owner: ResponseRelayOwner) {
    this.#res = res;
    this.#owner = owner;
  }

  /** Names the source to be held back; before the first `onHead`. */
  attach(source: ResponseSource): void {
    this.#source = source;
  }

  onHead(head: ResponseHead): void {
    this.status = head.status;
    this.#head = head;
    this.#contentLength = head.contentLength;
    this.#isBodiless = head.isBodiless(this.#owner.isHeadRequest);
  }

  onBody(chunk: Buffer): void {
    this.bodyBytes += chunk.length;
    this.#chunks.push(chunk);
  }

  onEnd(): void {
    this.#isEnded = true;
    // Nothing more comes from it for us: to hold it back would hold back somebody else's answer.
    this.#source = undefined;
    this.#write();
  }

  /** The read is over: what came in it is written now, since its memory is used again. */
  onReadEnd(): void {
    if (this.state === 'done' || this.#isEnded) return;
    if (this.#chunks.length > 0) this.#write();
    else if (this.state === 'head' && this.#head?.isEventStream === true && this.#contentLength < 0)
      this.#waitForEvent();
  }

  /** Keeps what came in this read for an `onEnd` that is to come after it. */
  keepChunks(): void {
    this.#chunks = this.#chunks.map((chunk) => Buffer.from(chunk));
  }

  /** The response cannot be completed: cuts the client's connection, so that it never looks complete. */
  cut(): void {
    if (this.state === 'done') return;
    this.abandon();
    this.#res.close();
  }

  /** The client is gone, or somebody else answers: touches the response no more. */
  abandon(): void {
    this.state = 'done';
    this.#chunks.length = 0;
    clearTimeout(this.#eventStreamTimer);
  }

  #write(): void {
    if (this.state !== 'done') this.#res.cork(this.#writeCorked);
  }

  readonly #writeCorked = (): void => {
    const isWhole = this.state === 'head' && this.#isEnded;
    if (this.state === 'head') this.#writeHead(isWhole);
    if (this.#isBodiless) this.#res.endWithoutBody();
    else if (isWhole && this.#isSmall()) this.#res.end(this.#chunks[0], this.#closesByFlag);
    else if (!this.#writeBody()) return;
    this.#chunks.length = 0;
    if (this.#isEnded) this.#finish();
  };

  #isSmall(): boolean {
    return this.#chunks.length <= 1 && this.#contentLength >= 0 && this.#contentLength <= MAX_WHOLE_BYTES;
  }

  #writeHead(isWhole: boolean): void {
    const head = this.#head!;
    const res = this.#res;
    const closing = this.#owner.closing();
    clearTimeout(this.#eventStreamTimer);
    this.state = 'body';
    // 200 OK is what uWebSockets.js writes by itself.
    if (head.statusLine !== '200 OK') res.writeStatus(latin1(head.statusLine));

    // All lines in one call: uWebSockets.js writes name, colon, blank and value as they are, and the head was proven.
    const requestId = this.#owner.requestId(head);
    let { fields } = head;
    if (requestId !== undefined) fields += `${fields === '' ? '' : '\r\n'}X-Request-Id: ${requestId}`;
    if (fields !== '') {
      const colon = fields.indexOf(':');
      const value = fields.slice(fields.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
      res.writeHeader(fields.slice(0, colon), head.isAscii ? value : latin1(value));
    }
    const hsts = this.#owner.hsts(head);
    if (hsts !== undefined) res.writeHeader('Strict-Transport-Security', hsts);

    if (this.#isBodiless) {
      // By hand, since endWithoutBody(length) leaves the response pending on the older build. A 204 has none
      // (RFC 9110 section 8.6); in answers to HEAD and in 304 it is what a GET would give.
      if (this.#contentLength >= 0 && head.status !== 204) res.writeHeader('Content-Length', `${this.#contentLength}`);
    } else {
      // The flag of end() writes the field itself. Neither tryEnd() nor the end of a chunked body has such a flag that
      // works (behind a write() the field would land in the body): there the client is told, and closes.
      this.#closesByFlag = closing === 'ours' && isWhole && this.#isSmall();
    }
    if (closing !== 'no' && !this.#closesByFlag) res.writeHeader('Connection', 'close');
  }

  /** False while bytes must wait for the client. */
  #writeBody(): boolean {
    return this.#contentLength < 0 ? this.#writeChunked() : this.#writeKnownLength();
  }

  /** False when the end must wait until what uWebSockets.js has queued is gone. */
  #writeChunked(): boolean {
    for (const chunk of this.#chunks) {
      if (!this.#res.write(chunk)) this.#block();
    }
    this.#chunks.length = 0;
    if (this.#isBlocked) return false;
    if (this.#isEnded) this.#res.end();
    return true;
  }

  /** False while bytes wait in `#unsent`, or the last of them is not taken yet. */
  #writeKnownLength(): boolean {
    const pending = this.#unsent === undefined ? this.#chunks : [this.#unsent, ...this.#chunks];
    this.#unsent = undefined;
    for (let i = 0; i < pending.length; i += 1) {
      const chunk = pending[i]!;
      const before = this.#res.getWriteOffset();
      const [isAllSent, isDone] = this.#res.tryEnd(chunk, this.#contentLength);
      if (isDone) return true;
      if (!isAllSent) {
        const taken = this.#res.getWriteOffset() - before;
        this.#unsent = Buffer.concat([chunk.subarray(taken), ...pending.slice(i + 1)]);
        this.#chunks.length = 0;
        this.#block();
        return false;
      }
    }
    return !this.#isEnded;
  }

  #block(): void {
    if (this.#isBlocked) return;
    this.#isBlocked = true;
    this.#source?.pauseReading();
    if (this.#hasWritableHandler) return;
    this.#hasWritableHandler = true;
    this.#res.onWritable(() => this.#onWritable());
  }

  #onWritable(): boolean {
    if (this.state === 'done') return true;
    this.#isBlocked = false;
    const isWritten = this.#writeBody();
    if (this.#isBlocked) return false;
    if (!this.#isEnded) this.#source?.resumeReading();
    else if (isWritten) this.#finish();
    return true;
  }

  #waitForEvent(): void {
    this.#eventStreamTimer ??= setTimeout(() => {
      if (this.state !== 'head') return;
      // uWebSockets.js cannot send a chunked head alone; a comment line is nothing to an EventSource.
      this.#chunks.push(Buffer.from(':\n\n'));
      this.#write();
    }, EVENT_STREAM_HEAD_DELAY_MS);
  }

  #finish(): void {
    this.abandon();
    this.#owner.onDone();
  }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
