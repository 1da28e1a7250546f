import { connect, type Socket } from 'node:net';
import type { ErrorCode } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { BINARY, CLOSE, PING, PONG, TEXT } from './websocket-frame.ts';
import { type FrameSink, WebSocketFrameReader } from './websocket-frame-reader.ts';
import {
  createKey,
  readUpgradeResponse,
  tryStatus,
  type UpgradeResponse,
  upgradeRequest,
} from './websocket-handshake.ts';
import type { FrameTarget, WebSocketOutbox } from './websocket-outbox.ts';

/** The app's answer when it is no 101, to be read on as an HTTP response by whoever takes it. */
export interface UpgradeRefusal {
  /** Paused; `resume()` goes on reading. The taker listens to `error` and closes it. */
  readonly socket: Socket;
  /** All that the app sent so far, from the status line on. The taker's own. */
  readonly received: Buffer;
  /**
   * Hands on what follows, in place of `data` events, which this socket does not emit; `end`, `error` and `close` come
   * as usual. The chunk is only valid during the call.
   */
  onData(consumer: (chunk: Buffer) => void): void;
}

/**
 * What happens on the app's side. Exactly one of the first three is called, unless `destroy` came before it; the rest
 * only after `accepted`. Buffers are views, valid during the call.
 */
export interface WebSocketClientHandler {
  /** The app upgraded. Its frames follow after the call, also those that came along with the 101. */
  accepted(response: UpgradeResponse): void;
  /** It gave another answer; the connection is the taker's now. */
  refused(refusal: UpgradeRefusal): void;
  /** It gave none, or one that is wrong; `why` is for the log. */
  failed(code: ErrorCode, why: string): void;

  /** Several frames came together: `handle` passes them on, one by one. */
  batch(handle: () => void): void;
  message(data: Buffer, isBinary: boolean): void;
  /** The app's close frame, already answered; `code` is undefined when it was empty. */
  closed(code: number | undefined, reason: Buffer): void;
  /** The app broke the protocol, or sent too big a message; it has been told `code`. */
  violated(code: number, why: string): void;
  /** The app reads too slowly: so many bytes wait for it. Called at each write while some do. */
  backlogged(bytes: number): void;
  /** Nothing waits any more. */
  caughtUp(): void;
  /** The connection is gone; nothing follows. */
  ended(): void;
}

/** What the app is asked. */
export interface WebSocketClientRequest {
  /** Request line and end-to-end fields, each line with its CRLF, latin-1. */
  readonly head: string;
  /** What the client offers, as it wrote it. */
  readonly protocols: string | undefined;
}

export interface WebSocketClientOptions {
  readonly connectTimeoutMs: number;
  /** From the connection to the end of the head of the app's answer. */
  readonly handshakeTimeoutMs: number;
  /** How long an app may make no progress once the close has begun. */
  readonly closeTimeoutMs: number;
  readonly maxHeadBytes: number;
  readonly maxMessageBytes: number;
}

type State = 'connecting' | 'handshake' | 'open' | 'closing' | 'handed over' | 'done';

const NOTHING: Buffer = Buffer.alloc(0);
const CRLF = '\r\n';
const HEAD_END = '\r\n\r\n';
const SWITCHING_PROTOCOLS = 101;
/** In place of a status. */
const INVALID = 1000;

/**
 * What every connection of this thread reads into: the bytes are used up, or copied, before the callback returns, and
 * libuv asks for the buffer right before each read.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One WebSocket connection to the app (RFC 6455), from dialling to its end. Answers the app's pings by itself. */
export class WebSocketClient implements FrameSink, FrameTarget {
  readonly #options: WebSocketClientOptions;
  /** Until it is answered: an open connection may live for days, and heads are large. */
  #request: WebSocketClientRequest | undefined;
  readonly #outbox: WebSocketOutbox;
  readonly #handler: WebSocketClientHandler;
  readonly #reader: WebSocketFrameReader;
  readonly #socket: Socket;
  readonly #key = createKey();
  #state: State = 'connecting';
  #timer: NodeJS.Timeout | undefined;
  #error: NodeJS.ErrnoException | undefined;
  /** Of the answer, up to the end of its head. */
  #received = NOTHING;
  #consumer: ((chunk: Buffer) => void) | undefined;
  #batchBytes = NOTHING;
  #batchLength = 0;
  readonly #readBatch = () => this.#reader.read(this.#batchBytes, this.#batchLength);

  /** Dials at once; nothing is called before the constructor has returned. */
  constructor(
    target: UpstreamTarget,
    request: WebSocketClientRequest,
    options: WebSocketClientOptions,
    outbox: WebSocketOutbox,
    handler: WebSocketClientHandler,
  ) {
    this.#request = request;
    this.#options = options;
    this.#outbox = outbox;
    this.#handler = handler;
    this.#reader = new WebSocketFrameReader(this, options.maxMessageBytes);
    const onread = {
      buffer: READ_BUFFER,
      callback: (length: number) => {
        this.#onData(length);
        return true;
      },
    };
    this.#socket =
      target.kind === 'unix'
        ? connect({ path: target.path, onread })
        : connect({ host: target.host, port: target.port, noDelay: true, onread });
    this.#socket.on('drain', () => {
      if (this.#state === 'open') handler.caughtUp();
    });
    this.#socket.on('connect', () => this.#onConnect());
    this.#socket.on('end', () => this.#onEnd());
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error;
    });
    this.#socket.on('close', () => this.#onClose());
    this.#startTimer(options.connectTimeoutMs);
  }

  /** Sends a message; the payload is copied. Dropped when the connection is not open. */
  send(payload: Uint8Array, isBinary: boolean): void {
    if (this.#state === 'open') this.#outbox.send(this, isBinary ? BINARY : TEXT, payload);
  }

  /** Shows the app that the connection lives. */
  sendPing(): void {
    if (this.#state === 'open') this.#outbox.send(this, PING, NOTHING);
  }

  /** Begins the close handshake; without a code the frame is empty. What was sent before goes first. */
  close(code?: number, reason: Uint8Array = NOTHING): void {
    if (this.#state === 'open') this.#startClosing(code, reason);
  }

  /** Ends the connection without a close frame, after what was sent before. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#outbox.flush();
    this.#socket.end();
    this.#socket.resume();
    this.#startCloseTimer();
  }

  /** Cuts the connection. Before `accepted`, nothing is called any more; after it, `ended` is. */
  destroy(): void {
    if (this.#state === 'handed over' || this.#state === 'done') return;
    if (this.#state === 'connecting' || this.#state === 'handshake') this.#state = 'done';
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  /** Stops reading: the app is held back by its own full socket. */
  pause(): void {
    if (this.#state === 'open') this.#socket.pause();
  }

  resume(): void {
    if (this.#state === 'open') this.#socket.resume();
  }

  // --- For the outbox ---

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  get unwrittenBytes(): number {
    return this.#socket.writableLength;
  }

  fellBehind(): void {
    if (this.#state === 'open') this.#handler.backlogged(this.#socket.writableLength);
  }

  // --- For the frame reader ---

  message(data: Buffer, isBinary: boolean): void {
    if (this.#state === 'open') this.#handler.message(data, isBinary);
  }

  ping(payload: Buffer): void {
    if (this.#state === 'open') this.#outbox.send(this, PONG, payload);
  }

  pong(): void {}

  closeFrame(code: number | undefined, reason: Buffer): void {
    // In answer to ours there is nothing more to say: the server closes the connection first (section 7.1.1).
    if (this.#state !== 'open') return;
    this.#startClosing(code, NOTHING);
    this.#handler.closed(code, reason);
  }

  violation(code: number, why: string): void {
    if (this.#state === 'open') {
      this.#startClosing(code, NOTHING);
      this.#handler.violated(code, why);
    } else {
      this.#socket.destroy();
    }
  }

  // --- Internal ---

  #onConnect(): void {
    if (this.#state !== 'connecting') return;
    this.#state = 'handshake';
    this.#startTimer(this.#options.handshakeTimeoutMs);
    const { head, protocols } = this.#request!;
    this.#socket.write(upgradeRequest(head, this.#key, protocols), 'latin1');
  }

  #onData(length: number): void {
    if (this.#state === 'open' || this.#state === 'closing') this.#deliver(READ_BUFFER, length);
    else if (this.#state === 'handshake') this.#readHead(READ_BUFFER.subarray(0, length));
    else if (this.#state === 'handed over') this.#consumer?.(READ_BUFFER.subarray(0, length));
  }

  /** One frame alone, the rule for a conversation, is not worth a batch. */
  #deliver(bytes: Buffer, length: number): void {
    if (this.#reader.isOneFrame(bytes, length)) {
      this.#reader.read(bytes, length);
      return;
    }
    this.#batchBytes = bytes;
    this.#batchLength = length;
    this.#handler.batch(this.#readBatch);
    this.#batchBytes = NOTHING;
  }

  #readHead(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    let status = this.#status();
    while (status !== undefined && status < 200) {
      const end = this.#received.indexOf(HEAD_END);
      if (end === -1) break;
      const head = this.#received.toString('latin1', 0, end);
      this.#received = this.#received.subarray(end + HEAD_END.length);
      if (status === SWITCHING_PROTOCOLS) {
        this.#accept(head);
        return;
      }
      // Any other interim answer (100, 103) says nothing about the upgrade: the next one counts.
      status = this.#status();
    }
    if (status === INVALID) {
      this.#fail('UPSTREAM_INVALID', 'its answer does not begin with a status line');
    } else if (status !== undefined && status >= 200) {
      this.#refuse();
    } else if (this.#received.length > this.#options.maxHeadBytes) {
      this.#fail('UPSTREAM_INVALID', `the head of its answer is longer than ${this.#options.maxHeadBytes} bytes`);
    }
  }

  /** Status of the answer that begins in `#received`; undefined as long as its first line is not complete. */
  #status(): number | undefined {
    const end = this.#received.indexOf(CRLF);
    return end === -1 ? undefined : (tryStatus(this.#received.toString('latin1', 0, end)) ?? INVALID);
  }

  #accept(head: string): void {
    const response = readUpgradeResponse(head, this.#key, this.#request!.protocols);
    if (typeof response === 'string') {
      this.#fail('UPSTREAM_INVALID', response);
      return;
    }
    clearTimeout(this.#timer);
    this.#state = 'open';
    this.#request = undefined;
    const early = this.#received;
    this.#received = NOTHING;
    this.#handler.accepted(response);
    if (early.length > 0) this.#deliver(early, early.length);
  }

  #refuse(): void {
    clearTimeout(this.#timer);
    this.#state = 'handed over';
    this.#socket.pause();
    const received = this.#received;
    this.#received = NOTHING;
    this.#handler.refused({
      socket: this.#socket,
      received,
      onData: (consumer) => {
        this.#consumer = consumer;
      },
    });
  }

  #fail(code: ErrorCode, why: string): void {
    this.destroy();
    this.#handler.failed(code, why);
  }

  #startClosing(code: number | undefined, reason: Uint8Array): void {
    const payload = code === undefined ? NOTHING : Buffer.concat([Buffer.from([code >> 8, code & 0xff]), reason]);
    this.#outbox.send(this, CLOSE, payload);
    this.#state = 'closing';
    this.#socket.resume();
    this.#startCloseTimer();
  }

  /** An app that takes what waits for it has all the time for that; one that does nothing is cut. */
  #startCloseTimer(before = this.#socket.writableLength): void {
    this.#startTimer(this.#options.closeTimeoutMs, () => {
      const left = this.#socket.writableLength;
      if (left < before) this.#startCloseTimer(left);
      else this.#socket.destroy();
    });
  }

  #startTimer(ms: number, onTime = () => this.#onTimeout()): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTime, ms);
    this.#timer.unref();
  }

  #onTimeout(): void {
    if (this.#state === 'connecting') this.#fail('UPSTREAM_REFUSED', 'it did not accept the connection in time');
    else this.#fail('UPSTREAM_TIMEOUT', 'it did not answer the upgrade in time');
  }

  /** The app's FIN. After a close handshake it is the expected end; else the app is gone, and so are we. */
  #onEnd(): void {
    if (this.#state === 'handshake') this.#fail('UPSTREAM_CLOSED', 'it closed the connection without an answer');
    else this.destroy();
  }

  #onClose(): void {
    clearTimeout(this.#timer);
    this.#consumer = undefined;
    if (this.#state === 'connecting') this.#fail('UPSTREAM_REFUSED', this.#error?.message ?? 'it cannot be reached');
    else if (this.#state === 'handshake')
      this.#fail('UPSTREAM_CLOSED', this.#error?.message ?? 'it closed the connection');
    else if (this.#state === 'open' || this.#state === 'closing') {
      this.#state = 'done';
      this.#reader.stop();
      this.#handler.ended();
    }
  }
}
