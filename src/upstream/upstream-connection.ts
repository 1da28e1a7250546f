import { UwsrpError } from '../lib/errors.ts';
import { atTurnEnd, type TurnEndTask } from '../lib/turn-end.ts';
import { formatTarget, type UpstreamTarget } from '../lib/upstream-target.ts';
import type { UpstreamExchange } from './exchange.ts';
import { ResponseParser } from './response-parser.ts';
import { UpstreamSocket } from './upstream-socket.ts';

/** What a connection tells its pool. */
export interface ConnectionOwner {
  onConnected(connection: UpstreamConnection): void;
  /** A request with a body is on its way here, and is not complete. */
  onUploadStart(): void;
  /** It is complete, or lost. */
  onUploadEnd(): void;
  /** The response is complete and the connection can take another request. */
  onReusable(connection: UpstreamConnection): void;
  /** One of several responses is complete: another request may be sent behind the others. */
  onRoom(connection: UpstreamConnection): void;
  /**
   * The connection is gone. `exchange` is the one whose response was due, if any, which has not been told yet: the owner
   * may send it again elsewhere or fail it with `error`. `behind` were sent behind it, and nothing of their responses came.
   */
  onClosed(
    connection: UpstreamConnection,
    exchange: UpstreamExchange | undefined,
    behind: readonly UpstreamExchange[],
    error: UwsrpError,
  ): void;
}

export interface ConnectionOptions {
  readonly target: UpstreamTarget;
  /** Milliseconds until a connect that got no answer fails. */
  readonly connectTimeoutMs: number;
  /** Most exchanges on it at a time. */
  readonly pipelining: number;
}

/** Most bytes on their way to the app before the client is held back. */
const WRITE_HIGH_WATER_MARK = 64 * 1024;

// Every connection reads into the same memory: a read is parsed, and what is kept of it copied, before the next one.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** A place in line whose exchange was given up. */
const GIVEN_UP = undefined;

/**
 * One keep-alive connection to the app, with one exchange on it, or with several that are answered in their order (RFC
 * 9112 section 9.3.2). It is used until the app or a doubt ends it: a response that leaves any question about where the
 * next one begins closes the connection.
 */
export class UpstreamConnection implements TurnEndTask {
  /** Whether it was used or idle before: only then can a lost exchange be the app's idle close. */
  isReused = false;
  /** When it became idle, in the pool's clock. */
  idleSince = 0;
  /** Milliseconds it may stay idle; the app's own announcement can shorten the pool's limit. */
  idleLimitMs = 0;

  readonly #owner: ConnectionOwner;
  readonly #options: ConnectionOptions;
  readonly #parser = new ResponseParser();
  readonly #socket: UpstreamSocket;
  /** The one whose response is due. */
  #exchange: UpstreamExchange | undefined;
  /** Those that are sent behind it. */
  readonly #behind: (UpstreamExchange | typeof GIVEN_UP)[] = [];
  /** How many of them are written. */
  #writtenBehind = 0;
  #isHeadSent = true;
  #isRequestSent = true;
  #isResponseDone = true;
  #hasResponseBytes = false;
  #isConnected = false;
  #isPaused = false;
  #isClosed = false;
  /** It is closed as soon as the end of the body, which the app has answered already, is with the kernel. */
  #isFlushing = false;
  /** Since when the app has owed the first byte of a response, as far as the sweeps have seen; -1 while it owes none. */
  #silentSince = -1;
  #connectTimer: NodeJS.Timeout | undefined;

  constructor(owner: ConnectionOwner, options: ConnectionOptions) {
    this.#owner = owner;
    this.#options = options;
    const { target } = options;
    this.#socket = new UpstreamSocket(target, {
      noDelay: true,
      writableHighWaterMark: WRITE_HIGH_WATER_MARK,
      onread: { buffer: readBuffer, callback: (bytes) => this.#onRead(bytes) },
    });
    this.#socket.on('drain', () => this.#onDrain());
    this.#socket.on('end', () => this.#onEnd());
    this.#socket.on('error', (cause) => this.#onError(cause));
    this.#socket.on('close', () => this.#close('the connection was closed'));
    this.#connectTimer = setTimeout(() => {
      this.fail(
        new UwsrpError(
          'UPSTREAM_REFUSED',
          `no connection to ${formatTarget(target)} in ${options.connectTimeoutMs} ms (UWSRP_CONNECT_TIMEOUT)`,
        ),
      );
    }, options.connectTimeoutMs);
    this.#socket.once('connect', () => {
      this.#isConnected = true;
      clearTimeout(this.#connectTimer);
      owner.onConnected(this);
    });
  }

  /** From the last response's `Keep-Alive: timeout=`, in seconds; -1 when the app announced nothing. */
  get keepAliveTimeout(): number {
    return this.#parser.keepAliveTimeout;
  }

  /** Whether an exchange that may share may be sent behind what is on the connection, and would not wait for a slow client. */
  get hasRoom(): boolean {
    const inFlight = this.#behind.length + 1;
    return (
      this.#exchange?.isShareable === true && inFlight < this.#options.pipelining && !this.#isPaused && !this.#isClosed
    );
  }

  /**
   * Sends the request by the end of this turn, and makes ready for its response. The connection must be idle, or new, or
   * have room.
   */
  send(exchange: UpstreamExchange): void {
    if (this.#exchange === undefined) {
      this.#isHeadSent = false;
      this.#expect(exchange);
      this.#socket.outlivesWriteErrors = exchange.hasRequestBody;
      if (exchange.hasRequestBody) this.#owner.onUploadStart();
    } else {
      this.#behind.push(exchange);
    }
    atTurnEnd(this);
    exchange.onAssigned(this);
  }

  #expect(exchange: UpstreamExchange): void {
    this.#exchange = exchange;
    this.#hasResponseBytes = false;
    this.#isRequestSent = !exchange.hasRequestBody;
    this.#isResponseDone = false;
    this.#silentSince = -1;
    this.#parser.expect(exchange.isHeadRequest, exchange);
  }

  /**
   * The head is written when all events of the turn have been read. If the app's close is among them, the exchange goes
   * to another connection: nothing of it was sent here.
   */
  onTurnEnd(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#isClosed) return;
    let heads = this.#isHeadSent ? '' : exchange.requestHead;
    this.#isHeadSent = true;
    for (; this.#writtenBehind < this.#behind.length; this.#writtenBehind += 1) {
      heads += this.#behind[this.#writtenBehind]?.requestHead ?? '';
    }
    if (heads === '') return;
    if (!exchange.hasRequestBody) {
      this.#socket.writeHead(heads);
      return;
    }
    // One write for the head and what has come of the body.
    this.#socket.cork();
    this.#socket.write(heads, 'latin1');
    exchange.onHeadSent();
    this.#socket.uncork();
  }

  /**
   * Writes body bytes; they must stay as they are while `unwrittenBytes` is not 0. False asks to wait for `onDrain`: the
   * kernel did not take them.
   */
  write(chunk: Buffer | string): boolean {
    this.#socket.write(chunk as string, 'latin1');
    return this.#socket.writableLength < WRITE_HIGH_WATER_MARK;
  }

  /** Bytes accepted by `write` that the kernel has not taken yet. */
  get unwrittenBytes(): number {
    return this.#socket.writableLength;
  }

  /** The request's body is complete. */
  finishRequest(): void {
    if (this.#isRequestSent) return;
    this.#isRequestSent = true;
    this.#silentSince = -1;
    this.#owner.onUploadEnd();
    // The response may have come first (RFC 9112 section 9.5): the connection waited only for this.
    if (this.#isResponseDone && !this.#isClosed) this.#settle();
  }

  /** Stops reading from the app, which is held back by TCP, until the response is complete at the latest. */
  pauseReading(): void {
    if (this.#isPaused || this.#isResponseDone) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resumeReading(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /**
   * Drops the connection without telling the exchange: the caller has given it up. Where it is behind another, only its
   * place in line is left, and the connection goes when that is reached.
   */
  abandon(exchange: UpstreamExchange): void {
    const place = this.#behind.indexOf(exchange);
    if (place >= this.#writtenBehind) {
      this.#behind.splice(place, 1);
    } else if (place !== -1) {
      this.#behind[place] = GIVEN_UP;
    } else if (exchange === this.#exchange) {
      this.#exchange = undefined;
      this.#close('the exchange was given up');
    }
  }

  /** Closes a connection that is not in use. */
  close(): void {
    this.#close('the connection was not needed any more');
  }

  /** Drops the connection for this reason, which the owner may tell the exchange. */
  fail(error: UwsrpError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#connectTimer);
    // An exchange with both halves done has nothing left to be told; it may be hearing of its end just now.
    const exchange = this.#parser.isIdle && this.#isRequestSent ? undefined : this.#exchange;
    this.#exchange = undefined;
    const behind = this.#behind.splice(0).filter((each) => each !== GIVEN_UP);
    // It may be in the middle of a read.
    this.#parser.stop();
    if (this.#isFlushing) this.#socket.destroySoon();
    else this.#socket.destroy();
    if (!this.#isRequestSent) {
      this.#isRequestSent = true;
      this.#owner.onUploadEnd();
    }
    this.#owner.onClosed(this, exchange, behind, error);
  }

  /** Whether the app may have closed it as an idle one, so that a lost exchange may be sent again. */
  mayRetry(exchange: UpstreamExchange): boolean {
    if (!this.isReused || this.#hasResponseBytes) return false;
    return exchange.isReplayable || !this.#isHeadSent;
  }

  /**
   * Fails the exchange when the app has owed the first byte of its response for `timeoutMs`: from the end of the
   * request on, and while it does not take what was sent of it. For a sweep over all connections, so that no request
   * needs a timer of its own.
   */
  checkResponse(now: number, timeoutMs: number): void {
    if (this.#isResponseDone || this.#hasResponseBytes || !this.#isConnected) return;
    if (!this.#isRequestSent && !this.#socket.writableNeedDrain) return;
    if (this.#silentSince < 0) {
      this.#silentSince = now;
    } else if (now - this.#silentSince >= timeoutMs) {
      this.fail(
        new UwsrpError('UPSTREAM_TIMEOUT', `the app did not answer in ${timeoutMs} ms (UWSRP_RESPONSE_TIMEOUT)`),
      );
    }
  }

  #onDrain(): void {
    this.#silentSince = -1;
    this.#exchange?.onDrain();
  }

  #onRead(bytes: number): boolean {
    if (this.#isClosed) return false;
    let position = 0;
    do {
      if (this.#isResponseDone || !this.#isHeadSent) {
        // Bytes that belong to no request: nothing may be read as the beginning of the next response.
        this.#close('the app sent bytes that nobody asked for');
        return false;
      }
      this.#hasResponseBytes = true;
      const result = this.#parser.execute(readBuffer, bytes, position);
      if (this.#isClosed) return false;
      if (typeof result === 'string') {
        this.fail(new UwsrpError('UPSTREAM_INVALID', `the app's response is refused: ${result}`));
        return false;
      }
      if (!this.#parser.isIdle) {
        this.#exchange?.onReadEnd();
        return true;
      }
      position = result;
      this.#isResponseDone = true;
      // Who held it back has nothing left to hold back; the next one, and the app's close, must be read.
      if (this.#isPaused) this.resumeReading();
      if (this.#behind.length > 0) this.#advance();
      else if (position < bytes) this.#close('the app sent more than its response');
      else if (this.#isRequestSent) this.#settle();
    } while (position < bytes && !this.#isClosed);
    return true;
  }

  /** The first of those behind has its turn, if the connection goes on. */
  #advance(): void {
    if (!this.#parser.keepAlive) {
      this.#close('the response was the last one');
      return;
    }
    this.isReused = true;
    this.#isHeadSent = this.#writtenBehind > 0;
    if (this.#isHeadSent) this.#writtenBehind -= 1;
    const next = this.#behind.shift();
    if (next === GIVEN_UP) {
      this.#close('the exchange was given up');
      return;
    }
    // Its answer may be in this read, and the one before it not written yet.
    this.#parser.keepHead();
    this.#expect(next);
    this.#owner.onRoom(this);
  }

  /** Both halves of the exchange are done. */
  #settle(): void {
    if (!this.#parser.keepAlive || this.#socket.isBroken) {
      this.#isFlushing = this.#socket.writableLength > 0;
      this.#close('the response was the last one');
      return;
    }
    this.#exchange = undefined;
    this.isReused = true;
    this.#owner.onReusable(this);
  }

  #onEnd(): void {
    if (this.#isClosed) {
      this.#socket.destroy();
      return;
    }
    const missing = this.#isResponseDone ? undefined : this.#parser.finish(this.#socket.isReset);
    if (missing === undefined) this.#isResponseDone = true;
    this.#close(`the app closed the connection${missing === undefined ? '' : ` ${missing}`}`);
  }

  #onError(cause: Error): void {
    const target = formatTarget(this.#options.target);
    const error = this.#isConnected
      ? new UwsrpError('UPSTREAM_CLOSED', `the connection to ${target} broke: ${cause.message}`, { cause })
      : new UwsrpError('UPSTREAM_REFUSED', `cannot connect to ${target}: ${cause.message}`, { cause });
    this.fail(error);
  }

  #close(reason: string): void {
    this.fail(new UwsrpError('UPSTREAM_CLOSED', reason));
  }
}
