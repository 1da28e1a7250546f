import { FIELD_LINE, INCOMPLETE, parseResponseHead, ResponseHead } from './response-head.ts';

/** What a ResponseParser tells while it reads. */
export interface ResponseSink {
  /** The head may be looked at until the turn of the event loop ends; then the next response may be in it. */
  onHead(head: ResponseHead): void;
  /** A view of the read buffer, valid until `onEnd` or `onReadEnd` returns. */
  onBody(chunk: Buffer): void;
  onEnd(): void;
}

export interface ResponseLimits {
  /** Most bytes of one head, and of a trailer section. */
  readonly maxHeadBytes: number;
  /** Most interim (1xx) responses before the final one. */
  readonly maxInterimResponses: number;
}

export const DEFAULT_RESPONSE_LIMITS: ResponseLimits = { maxHeadBytes: 256 * 1024, maxInterimResponses: 32 };

/** A chunk's size line: 16 hex digits and some room for extensions, which are read and forgotten. */
const MAX_CHUNK_LINE_BYTES = 4096;

const HEAD_START = Buffer.from('HTTP/1.', 'latin1');
/** Even the blank line does not complete such a head. */
const TOO_SHORT = 'its status line is malformed';
const EMPTY = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const BLANK = 0x20;
const SEMICOLON = 0x3b;

/** Takes what is left of a read whose exchange was given up in the middle. */
const NOBODY: ResponseSink = { onHead() {}, onBody() {}, onEnd() {} };

type State =
  | 'idle'
  | 'head'
  | 'body-length'
  | 'body-close'
  | 'chunk-size'
  | 'chunk-blank'
  | 'chunk-extension'
  | 'chunk-size-lf'
  | 'chunk-data'
  | 'chunk-data-cr'
  | 'chunk-data-lf'
  | 'trailer'
  | 'failed';

/**
 * Reads the responses of one HTTP/1.1 connection (RFC 9112), incrementally at every byte boundary, and strictly: what
 * it cannot understand in exactly one way it refuses. Interim responses (1xx) are read and dropped; 101 is refused,
 * since no request that comes this way asks for an upgrade. Trailers are read and dropped.
 */
export class ResponseParser {
  readonly #limits: ResponseLimits;
  #head = new ResponseHead();
  #state: State = 'idle';
  #isHeadRequest = false;
  #sink: ResponseSink | undefined;
  /** Start of a head, or of a trailer line, that comes in more than one read: the first `#heldBytes` of `#held`. */
  #held: Buffer = EMPTY;
  #heldBytes = 0;
  #interimCount = 0;
  /** Bytes left of the body or of the chunk. */
  #remaining = 0;
  /** Bytes behind a chunk's size, or of the trailer section. */
  #extraBytes = 0;
  #sizeDigits = 0;

  constructor(limits: ResponseLimits = DEFAULT_RESPONSE_LIMITS) {
    this.#limits = limits;
  }

  /** True between responses: bytes that arrive now belong to none. */
  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  /** Whether the connection may be used again after the response that was read last. */
  get keepAlive(): boolean {
    return this.#head.keepAlive && this.#state === 'idle';
  }

  /** From the last response's `Keep-Alive: timeout=`, in seconds; -1 when absent. */
  get keepAliveTimeout(): number {
    return this.#head.keepAliveTimeout;
  }

  /** Makes ready for the next response while the head of the last one may still be looked at. */
  keepHead(): void {
    this.#head = new ResponseHead();
  }

  /** Makes ready for the response to a request that is about to be sent. */
  expect(isHeadRequest: boolean, sink: ResponseSink): void {
    this.#state = 'head';
    this.#isHeadRequest = isHeadRequest;
    this.#sink = sink;
    this.#interimCount = 0;
  }

  /** The exchange was given up: nothing more is told, not even in the middle of a read. */
  stop(): void {
    this.#sink = NOBODY;
  }

  /**
   * Reads `data` from `start` to `end`. Returns the position behind what belonged to the expected response (less than
   * `end`: more came than that), or the reason why the response is refused, after which the parser is dead.
   */
  execute(data: Buffer, end: number = data.length, start = 0): number | string {
    const result = this.#execute(data, start, end);
    if (typeof result === 'string') this.#state = 'failed';
    return result;
  }

  /**
   * The connection was ended by the app. Returns undefined when that is a right end of the response (its length was
   * "until close") or when none was expected, else what is missing. A reset is never a right end (RFC 9112 section 8).
   */
  finish(isReset = false): string | undefined {
    if (this.#state === 'idle') return undefined;
    if (this.#state === 'body-close' && !isReset) {
      this.#end();
      return undefined;
    }
    const missing = this.#state === 'head' ? 'before a whole response head' : 'in the middle of the response body';
    this.#state = 'failed';
    return missing;
  }

  #execute(data: Buffer, start: number, end: number): number | string {
    let position = start;
    while (position < end) {
      switch (this.#state) {
        case 'idle':
          return position;
        case 'failed':
          return 'the connection is not in use any more';
        case 'head': {
          const next =
            this.#heldBytes === 0 ? this.#readHead(data, position, end) : this.#readHeldHead(data, position, end);
          if (typeof next === 'string') return next;
          position = next;
          break;
        }
        case 'body-length': {
          const bodyEnd = Math.min(end, position + this.#remaining);
          this.#remaining -= bodyEnd - position;
          this.#sink!.onBody(data.subarray(position, bodyEnd));
          position = bodyEnd;
          if (this.#remaining === 0) this.#end();
          break;
        }
        case 'body-close':
          this.#sink!.onBody(data.subarray(position, end));
          return end;
        case 'chunk-data': {
          const chunkEnd = Math.min(end, position + this.#remaining);
          this.#remaining -= chunkEnd - position;
          this.#sink!.onBody(data.subarray(position, chunkEnd));
          position = chunkEnd;
          if (this.#remaining === 0) this.#state = 'chunk-data-cr';
          break;
        }
        case 'trailer': {
          const next = this.#readTrailer(data, position, end);
          if (typeof next === 'string') return next;
          position = next;
          break;
        }
        default: {
          const problem = this.#readChunkFraming(data[position]!);
          if (problem !== undefined) return problem;
          position += 1;
        }
      }
    }
    return position;
  }

  /** A head that begins in this read, and nearly always ends in it. Returns the position behind what was read. */
  #readHead(data: Buffer, position: number, end: number): number | string {
    const next = parseResponseHead(data, position, end, this.#head);
    if (typeof next === 'number' && next !== INCOMPLETE) {
      if (next - position > this.#limits.maxHeadBytes) return this.#tooLarge();
      return this.#startBody() ?? next;
    }
    const read = data.subarray(position, end);
    const blankLine = read.indexOf('\r\n\r\n', 0, 'latin1');
    if ((blankLine === -1 ? read.length : blankLine + 4) > this.#limits.maxHeadBytes) return this.#tooLarge();
    // However a head is split into reads, it is judged when its blank line is there.
    if (blankLine !== -1) return typeof next === 'string' ? next : TOO_SHORT;
    this.#hold(data, position, end);
    return checkPartialHead(read, 0, 0) ?? end;
  }

  /**
   * More of a head that began in an earlier read. It is read as a whole when its blank line is there, and not with each
   * further read, which would be quadratic.
   */
  #readHeldHead(data: Buffer, position: number, end: number): number | string {
    const heldBefore = this.#heldBytes;
    this.#hold(data, position, end);
    const buffer = this.#held.subarray(0, this.#heldBytes);
    // The blank line may be split over two reads.
    const unread = Math.max(0, heldBefore - 3);
    const blankLine = buffer.indexOf('\r\n\r\n', unread, 'latin1');
    const headBytes = blankLine === -1 ? buffer.length : blankLine + 4;
    if (headBytes > this.#limits.maxHeadBytes) return this.#tooLarge();
    if (blankLine === -1) return checkPartialHead(buffer, 0, unread) ?? end;
    this.#releaseHeld();
    const next = parseResponseHead(buffer, 0, headBytes, this.#head);
    if (typeof next === 'string') return next;
    return next === INCOMPLETE ? TOO_SHORT : (this.#startBody() ?? position + next - heldBefore);
  }

  #tooLarge(): string {
    return `its head is larger than ${this.#limits.maxHeadBytes} bytes`;
  }

  /** Copies a part of a read that is not understood yet. The memory doubles, or many small reads would be quadratic. */
  #hold(data: Buffer, start: number, end: number): void {
    const needed = this.#heldBytes + end - start;
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    data.copy(this.#held, this.#heldBytes, start, end);
    this.#heldBytes = needed;
  }

  #releaseHeld(): void {
    this.#held = EMPTY;
    this.#heldBytes = 0;
  }

  #startBody(): string | undefined {
    const head = this.#head;
    if (head.status < 200) {
      if (head.status === 101) return 'it switches protocols though nobody asked';
      if (head.isChunked || head.contentLength > 0) return 'an interim response announces a body';
      this.#interimCount += 1;
      if (this.#interimCount > this.#limits.maxInterimResponses) return 'it has too many interim responses';
      return undefined;
    }
    if (head.isBodiless(this.#isHeadRequest)) {
      // What a wrong app may send behind it must not become the next answer.
      if (!this.#isHeadRequest && (head.isChunked || (head.status === 204 && head.contentLength > 0))) {
        head.keepAlive = false;
      }
      this.#sink!.onHead(head);
      this.#end();
    } else if (head.isChunked) {
      this.#startChunk();
      this.#sink!.onHead(head);
    } else if (head.contentLength >= 0) {
      this.#state = 'body-length';
      this.#remaining = head.contentLength;
      this.#sink!.onHead(head);
      if (this.#remaining === 0) this.#end();
    } else {
      this.#state = 'body-close';
      head.keepAlive = false;
      this.#sink!.onHead(head);
    }
    return undefined;
  }

  #end(): void {
    this.#state = 'idle';
    const sink = this.#sink!;
    this.#sink = undefined;
    sink.onEnd();
  }

  #startChunk(): void {
    this.#state = 'chunk-size';
    this.#remaining = 0;
    this.#sizeDigits = 0;
    this.#extraBytes = 0;
  }

  /** One byte of `chunk-size [ chunk-ext ] CRLF`, or of the CRLF behind a chunk's data (RFC 9112 section 7.1). */
  #readChunkFraming(byte: number): string | undefined {
    switch (this.#state) {
      case 'chunk-size': {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          this.#sizeDigits += 1;
          this.#remaining = this.#remaining * 16 + digit;
          if (this.#sizeDigits > 16 || this.#remaining > Number.MAX_SAFE_INTEGER) return 'a chunk size is too large';
          return undefined;
        }
        if (this.#sizeDigits === 0) return 'a chunk size is not a hexadecimal number';
        return this.#behindChunkSize(byte);
      }
      case 'chunk-blank':
        return this.#behindChunkSize(byte);
      case 'chunk-extension':
        this.#extraBytes += 1;
        if (this.#extraBytes > MAX_CHUNK_LINE_BYTES) return 'a chunk extension is too long';
        if (byte === CR) this.#state = 'chunk-size-lf';
        else if ((byte < BLANK && byte !== TAB) || byte === 0x7f) return 'a chunk extension holds a control byte';
        return undefined;
      case 'chunk-size-lf':
        if (byte !== LF) return 'a chunk size line does not end in CRLF';
        this.#extraBytes = 0;
        this.#state = this.#remaining === 0 ? 'trailer' : 'chunk-data';
        return undefined;
      case 'chunk-data-cr':
        if (byte !== CR) return 'a chunk is longer than its size says';
        this.#state = 'chunk-data-lf';
        return undefined;
      default:
        if (byte !== LF) return 'a chunk does not end in CRLF';
        this.#startChunk();
        return undefined;
    }
  }

  /** Some servers fill the size up with blanks; anything else behind it must begin with a semicolon. */
  #behindChunkSize(byte: number): string | undefined {
    this.#extraBytes += 1;
    if (this.#extraBytes > MAX_CHUNK_LINE_BYTES) return 'a chunk size line is too long';
    if (byte === CR) this.#state = 'chunk-size-lf';
    else if (byte === SEMICOLON) this.#state = 'chunk-extension';
    else if (byte === BLANK || byte === TAB) this.#state = 'chunk-blank';
    else return 'a chunk size is not a hexadecimal number';
    return undefined;
  }

  /** Reads one line of the trailer section; its fields are dropped (RFC 9110 section 6.5.1 allows it). */
  #readTrailer(data: Buffer, position: number, readEnd: number): number | string {
    const found = data.indexOf(LF, position);
    const lf = found < readEnd ? found : -1;
    const end = lf === -1 ? readEnd : lf + 1;
    this.#extraBytes += end - position;
    if (this.#extraBytes > this.#limits.maxHeadBytes) return 'its trailers are too large';
    if (lf === -1) {
      this.#hold(data, position, end);
      return end;
    }
    let line: string;
    if (this.#heldBytes === 0) {
      line = data.toString('latin1', position, end);
    } else {
      this.#hold(data, position, end);
      line = this.#held.toString('latin1', 0, this.#heldBytes);
      this.#releaseHeld();
    }
    if (line === '\r\n') this.#end();
    else if (!FIELD_LINE.test(line)) return 'a trailer line is malformed';
    return end;
  }
}

/** Says at once that this will never be a head, so that garbage does not wait for a timeout. */
function checkPartialHead(buffer: Buffer, start: number, unread: number): string | undefined {
  const known = Math.min(buffer.length - start, HEAD_START.length);
  if (buffer.compare(HEAD_START, 0, known, start, start + known) !== 0) return 'it does not begin with HTTP/1.';
  for (let i = buffer.indexOf(LF, unread); i !== -1; i = buffer.indexOf(LF, i + 1)) {
    if (i === start || buffer[i - 1] !== CR) return 'a header line ends without CR';
  }
  return undefined;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
