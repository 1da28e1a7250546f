import { atTurnEnd, type TurnEndTask } from '../lib/turn-end.ts';
import type { ResponseHead } from '../upstream/response-head.ts';
import type { ResponseSink } from '../upstream/response-parser.ts';
import { SMALL_BODY_BYTES, writeChunks } from './chunked-body.ts';
import { writeKnownLength } from './known-length-body.ts';
import { type SlowReader, slowReaders } from './slow-readers.ts';
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
  /** The request's body is held back: whoever pauses its client resumes it, too. */
  readonly isUploadPaused?: boolean;
}

/**
 * A whole answer up to this size is handed over in one call. A larger one goes by `tryEnd`, which tells when the last
 * byte has left for the kernel, so that a stop does not cut it.
 */
const MAX_WHOLE_BYTES = 16 * 1024;

/** A small answer that came whole is copied, and written together with others when the turn of the event loop ends. */
const MAX_DELAYED_BYTES = 4 * 1024;

const NOTHING: Buffer[] = [];

// The relay that is writing in a cork: a function of each relay's own would be one more object for each request.
let corked: ResponseRelay;
const writeCorked = () => corked.writeFirst();

/** How long an event stream without an event waits before its head is sent on with a comment. */
const EVENT_STREAM_HEAD_DELAY_MS = 100;

/**
 * Writes one response from the app to one uWebSockets.js response: the length is kept where it is known, chunked
 * where it is not, and the app is held back while the client is slow, so that at most one read of the app's bytes
 * waits in memory.
 */
export class ResponseRelay implements ResponseSink, SlowReader, TurnEndTask {
  /** `head`: nothing is written yet; `body`: the head is out; `done`: ended, aborted or cut. */
  state: 'head' | 'body' | 'done' = 'head';
  /** Final status that the client gets; 0 until the app answered. */
  status = 0;
  /** Body bytes handed to uWebSockets.js. */
  bodyBytes = 0;
  blockedSince = 0;

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
  /** What is still to be written, once it is: views of the current read, which die with it, or our copy. */
  #chunks: Buffer[] = NOTHING;
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
    if (this.#chunks === NOTHING) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  onEnd(): void {
    this.#isEnded = true;
    // Nothing more comes from it for us: to hold it back would hold back somebody else's answer.
    this.#source = undefined;
    if (this.state === 'head' && (this.#isBodiless || (this.#isSmall() && this.bodyBytes <= MAX_DELAYED_BYTES))) {
      this.keepChunks();
      atTurnEnd(this);
    } else {
      this.#write();
    }
  }

  /** A small answer, the whole of it, is due. */
  onTurnEnd(): void {
    if (this.state === 'head') this.#write();
  }

  /** The read is over: what came in it is written now, since its memory is used again. */
  onReadEnd(): void {
    if (this.state === 'done' || this.#isEnded) return;
    if (this.#chunks.length > 0) this.#write();
    else if (this.state === 'head' && this.#head?.isEventStream === true && this.#contentLength < 0)
      this.#waitForEvent();
  }

  /** Keeps what came in this read, for when it can be written. */
  keepChunks(): void {
    if (this.#chunks.length === 1) this.#chunks[0] = Buffer.from(this.#chunks[0]!);
    else if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
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
    this.#chunks = NOTHING;
    if (this.#hasWritableHandler) slowReaders.delete(this);
    clearTimeout(this.#eventStreamTimer);
  }

  keepWaiting(): void {
    this.#res.pause();
    // What is paused has no time limit by uWebSockets.js.
    if (this.#owner.isUploadPaused !== true) this.#res.resume();
  }

  /** The owner learns of it as of a client that left: by `onAborted`. */
  giveUp(): void {
    this.cut();
  }

  #write(): void {
    if (this.state === 'head') {
      corked = this;
      this.#res.cork(writeCorked);
      if (this.#chunks.length === 0) return;
    }
    if (this.state === 'body') this.#writeBody();
  }

  /** The head, and behind it what may be in the same cork. For `writeCorked` only. */
  writeFirst(): void {
    this.#writeHead(this.#isEnded);
    if (this.#isBodiless || (this.#isEnded && this.#isSmall())) {
      if (this.#isBodiless) this.#res.endWithoutBody();
      else this.#res.end(this.#chunks[0], this.#closesByFlag);
      this.#finish();
    } else if (this.#contentLength >= 0 || this.bodyBytes <= SMALL_BODY_BYTES) {
      this.#writeBody();
    }
  }

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
    const { fields } = head;
    if (requestId !== undefined) {
      const value = fields === '' ? requestId : `${requestId}\r\n${fields}`;
      res.writeHeader('X-Request-Id', head.isAscii ? value : latin1(value));
    } else if (fields !== '') {
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

  #writeBody(): void {
    if (this.#isBlocked) {
      this.keepChunks();
      return;
    }
    const isTaken =
      this.#contentLength < 0
        ? writeChunks(this.#res, this.#chunks, this.#isEnded, this.#hasWritableHandler)
        : writeKnownLength(this.#res, this.#chunks, this.#contentLength, this.#isEnded, this.bodyBytes);
    if (!isTaken) {
      this.keepChunks();
      this.#block();
    } else if (this.#isEnded) {
      this.#finish();
    }
  }

  #block(): void {
    this.#isBlocked = true;
    this.blockedSince = performance.now();
    slowReaders.add(this);
    this.#source?.pauseReading();
    if (this.#hasWritableHandler) return;
    this.#hasWritableHandler = true;
    this.#res.onWritable(() => this.#onWritable());
  }

  #onWritable(): boolean {
    if (this.state === 'done') return true;
    this.#isBlocked = false;
    slowReaders.delete(this);
    // With such a handler uWebSockets.js does not send by itself what it has queued; leaving a cork does.
    this.#res.cork(() => {});
    this.#writeBody();
    if (this.#isBlocked) return false;
    if (!this.#isEnded) this.#source?.resumeReading();
    return true;
  }

  #waitForEvent(): void {
    this.#eventStreamTimer ??= setTimeout(() => {
      // What has come meanwhile may wait for the end of the request.
      if (this.state !== 'head' || this.#chunks.length > 0) return;
      // uWebSockets.js cannot send a chunked head alone; a comment line is nothing to an EventSource.
      this.#chunks = [Buffer.from(':\n\n')];
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
