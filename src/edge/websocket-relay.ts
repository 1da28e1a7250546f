import type { HttpResponse, WebSocket } from 'uWebSockets.js';
import type { WebSocketCompression } from '../config/config.ts';
import type { ErrorCode } from '../lib/errors.ts';
import { isWorthCompressing } from '../lib/is-worth-compressing.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { type UpgradeRefusal, WebSocketClient, type WebSocketClientHandler } from '../upstream/websocket-client.ts';
import { GOING_AWAY, INTERNAL_ERROR, MESSAGE_TOO_BIG, TRY_AGAIN_LATER } from '../upstream/websocket-frame.ts';
import type { UpgradeResponse } from '../upstream/websocket-handshake.ts';
import type { WebSocketOutbox } from '../upstream/websocket-outbox.ts';
import { WebSocketBrake } from './websocket-brake.ts';
import { cutCode, tooBigText } from './websocket-cut.ts';
import { type ClientHandshake, upgradeClient } from './websocket-upgrade.ts';

/** A client's handshake, read before anything asynchronous happens, and the ways to answer it other than with 101. */
export interface UpgradeRequest {
  /**
   * Request line, end-to-end and forwarded fields for the app, latin-1, each line with its CRLF, no blank line after.
   * Without `Connection`, `Upgrade` and every `Sec-WebSocket-*`: those are each hop's own.
   */
  readonly head: string;
  /** The subprotocols on offer: the client's `Sec-WebSocket-Protocol` fields, joined with `, `. */
  readonly protocols: string | undefined;
  /** Answers with an error of the table; `why` is for the log. */
  refuse(code: ErrorCode, why: string): void;
  /** Answers with what the app gave instead of its 101. Sets an `onAborted` of its own, in place of the relay's. */
  relayResponse(refusal: UpgradeRefusal): void;
  /** The app has accepted; the client gets its 101 now. */
  onAccepted(): void;
  /** The client went away before its answer. */
  onGone(): void;
}

export interface RelayOptions {
  readonly connectTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  readonly closeTimeoutMs: number;
  readonly maxHeadBytes: number;
  readonly maxMessageBytes: number;
  /** Most bytes that wait for an app which reads too slowly; beyond it the relay ends. */
  readonly maxBacklogBytes: number;
  /** With clients; with the app, on the same machine, it would cost more than it saves. */
  readonly compression: WebSocketCompression;
}

/** What a relay needs of the keeper of all relays. */
export interface RelayKeeper {
  readonly options: RelayOptions;
  readonly outbox: WebSocketOutbox;
  /** Where uWebSockets.js puts the socket that it has just opened, unless it has closed it again. */
  readonly opened: RelaySocket[];
  target(): UpstreamTarget;
  /** Both sides are open. */
  onOpen(relay: WebSocketRelay): void;
  /** Both sides are gone. */
  onDone(relay: WebSocketRelay): void;
  warn(why: string): void;
}

/** The socket object is the same in every callback, so that it can carry a field of ours. */
export type RelaySocket = WebSocket<unknown> & { relay?: WebSocketRelay };

/** Above this much unsent for one side the other is not read; a client that is down to the second is caught up. */
const PAUSE_BYTES = 64 * 1024;
const RESUME_BYTES = 16 * 1024;

/** What `send` gives when all of the message is on its way; else some of it waits. None is dropped: no limit is set. */
const SENT = 1;

const NOTHING: Buffer = Buffer.alloc(0);

/** What uWebSockets.js also says of 1012 to 1014 and 3000 to 3999, which are valid and which it does not let us see. */
const UNREAD_CLOSE = 'Received invalid close payload';

const NO_STATUS = 1005;
const ABNORMAL = 1006;

const decoder = new TextDecoder();

/**
 * One client's WebSocket and the app's, from the handshake on. Messages pass as they are; pings are answered by each
 * hop on its own; a close goes to the other side with its code and reason. What ends without a close frame ends so on
 * the other side too, after what was sent before: 1006 cannot be sent (RFC 6455 section 7.4.1), and any other code
 * would claim something that neither peer said. Clients tell a cut from a verdict, and some take 1011 as final.
 */
export class WebSocketRelay implements WebSocketClientHandler {
  readonly #keeper: RelayKeeper;
  readonly #handshake: ClientHandshake;
  /** Until the app has answered. */
  #request: UpgradeRequest | undefined;
  #res: HttpResponse | undefined;
  readonly #client: WebSocketClient;
  /** `asking`: the response may be used. `open`: the WebSocket may be. In no other state is either touched. */
  #state: 'asking' | 'open' | 'gone' = 'asking';
  #ws: RelaySocket | undefined;
  #isAppGone = false;
  #isAppPaused = false;
  #isClientPaused = false;
  #brake: WebSocketBrake | undefined;
  #isBatch = false;
  /** What a close within a batch puts off: `end` inside `cork` sends no FIN. */
  #afterBatch: (() => void) | undefined;
  /** When the next pings are due, in ticks of the keeper. */
  pingTick = 0;
  /** Another response object for the client's connection, never to be answered with: see `WebSocketBrake`. */
  spareResponse: HttpResponse | undefined;

  /** Dials the app; the client is answered when the app has answered. */
  constructor(keeper: RelayKeeper, request: UpgradeRequest, res: HttpResponse, handshake: ClientHandshake) {
    this.#keeper = keeper;
    this.#request = request;
    this.#res = res;
    this.#handshake = handshake;
    res.onAborted(() => this.#onAborted());
    this.#client = new WebSocketClient(keeper.target(), request, keeper.options, keeper.outbox, this);
  }

  /** The client's `Sec-WebSocket-Key`. */
  get key(): string {
    return this.#handshake.key;
  }

  /** Closes both sides (1001: the server goes away); a handshake without an answer is refused. */
  goAway(): void {
    if (this.#state === 'asking') this.#abandon();
    else this.#closeBoth(GOING_AWAY);
  }

  /** Cuts both sides. */
  terminate(): void {
    if (this.#state === 'asking') {
      this.#abandon();
    } else {
      this.#cutClient();
      this.#client.destroy();
    }
  }

  /**
   * Shows the app, and the client if asked to, that the connection lives. A client that is not read is always pinged:
   * with the timer off, a failed write is how its loss is noticed.
   */
  ping(isClientToo: boolean): void {
    if (this.#state === 'open' && (isClientToo || this.#isClientPaused)) this.#ws!.ping();
    this.#client.sendPing();
  }

  // --- The client's side, told by uWebSockets.js ---

  clientMessage(message: ArrayBuffer, isBinary: boolean): void {
    const { maxMessageBytes } = this.#keeper.options;
    if (message.byteLength <= maxMessageBytes) {
      this.#client.send(new Uint8Array(message), isBinary);
      return;
    }
    this.#warnTooBig();
    this.#closeBoth(MESSAGE_TOO_BIG, 'message too big');
  }

  clientDrained(): void {
    if (this.#state !== 'open') return;
    const buffered = this.#ws!.getBufferedAmount();
    if (this.#isAppGone) {
      if (buffered === 0) this.#cutClient();
    } else if (this.#isAppPaused && buffered <= RESUME_BYTES) {
      this.#isAppPaused = false;
      this.#client.resume();
    }
  }

  /** The client closed, or is lost. Also called from within `end` and `close`: then there is nothing left to do. */
  clientClosed(code: number, reason: ArrayBuffer): void {
    if (this.#state === 'gone') return;
    this.#clientGone();
    if (code === NO_STATUS) this.#client.close();
    else if (code === ABNORMAL) this.#clientLost(decoder.decode(reason));
    else this.#client.close(code, new Uint8Array(reason));
  }

  // --- The app's side, told by its connection ---

  accepted(response: UpgradeResponse): void {
    this.#request!.onAccepted();
    upgradeClient(this.#res!, response, this.#handshake);
    this.#res = undefined;
    this.#request = undefined;
    const ws = this.#keeper.opened.pop();
    if (ws === undefined) {
      // It was closed again within its upgrade: see `upgradeClient`.
      this.#state = 'gone';
      this.#keeper.onOpen(this);
      this.#client.end();
      return;
    }
    ws.relay = this;
    this.#ws = ws;
    this.#state = 'open';
    if (this.spareResponse !== undefined) this.#brake = new WebSocketBrake(this.spareResponse, ws);
    this.spareResponse = undefined;
    this.#keeper.onOpen(this);
  }

  refused(refusal: UpgradeRefusal): void {
    this.#state = 'gone';
    this.#keeper.onDone(this);
    this.#request!.relayResponse(refusal);
  }

  failed(code: ErrorCode, why: string): void {
    this.#state = 'gone';
    this.#keeper.onDone(this);
    this.#request!.refuse(code, why);
  }

  /** What came in one read leaves in one write. */
  batch(handle: () => void): void {
    if (this.#state !== 'open') {
      handle();
      return;
    }
    const ws = this.#ws!;
    this.#isBatch = true;
    ws.cork(handle);
    this.#isBatch = false;
    const afterBatch = this.#afterBatch;
    this.#afterBatch = undefined;
    if (afterBatch !== undefined) afterBatch();
    else if (this.#state === 'open' && ws.getBufferedAmount() > PAUSE_BYTES) this.#pauseApp();
  }

  message(data: Buffer, isBinary: boolean): void {
    if (this.#state !== 'open') return;
    const isCompressed = this.#keeper.options.compression !== 'off' && isWorthCompressing(data.length);
    const status = this.#ws!.send(data, isBinary, isCompressed);
    if (status === SENT || this.#isBatch) return;
    if (this.#ws!.getBufferedAmount() > PAUSE_BYTES) this.#pauseApp();
  }

  closed(code: number | undefined, reason: Buffer): void {
    this.#endClient(code, reason);
  }

  violated(code: number, why: string): void {
    this.#keeper.warn(`the application broke the WebSocket protocol: ${why}`);
    this.#endClient(code === MESSAGE_TOO_BIG ? MESSAGE_TOO_BIG : INTERNAL_ERROR);
  }

  /** Beyond the limit are only a client that could not be paused, and an app that pings and reads no pong. */
  backlogged(bytes: number): void {
    if (bytes > this.#keeper.options.maxBacklogBytes) {
      this.#keeper.warn(`the application reads too slowly: ${bytes} bytes of one WebSocket wait for it`);
      this.#closeBoth(TRY_AGAIN_LATER, 'the application reads too slowly');
    } else if (bytes > PAUSE_BYTES && this.#state === 'open' && this.#brake !== undefined) {
      this.#isClientPaused = true;
      this.#brake.pause();
    }
  }

  caughtUp(): void {
    if (this.#state === 'open') this.#releaseClient();
  }

  ended(): void {
    this.#isAppGone = true;
    if (this.#state === 'gone') this.#keeper.onDone(this);
    else if (this.#state === 'open' && this.#ws!.getBufferedAmount() === 0) this.#cutClient();
  }

  // --- Internal ---

  #onAborted(): void {
    if (this.#state !== 'asking') return;
    this.#state = 'gone';
    this.#client.destroy();
    this.#keeper.onDone(this);
    this.#request!.onGone();
  }

  #abandon(): void {
    this.#client.destroy();
    this.failed('DRAINING', 'the proxy is shutting down');
  }

  #closeBoth(code: number, reason = ''): void {
    this.#endClient(code, Buffer.from(reason));
    this.#client.close(code, Buffer.from(reason));
  }

  #endClient(code = 0, reason: Buffer = NOTHING): void {
    if (this.#state !== 'open') return;
    const ws = this.#ws!;
    this.#releaseClient();
    this.#clientGone();
    if (!this.#isBatch) {
      ws.end(code, reason);
      return;
    }
    const kept = Buffer.from(reason);
    this.#afterBatch = () => ws.end(code, kept);
  }

  #cutClient(): void {
    if (this.#state !== 'open') return;
    const ws = this.#ws!;
    this.#releaseClient();
    this.#clientGone();
    ws.close();
  }

  #clientGone(): void {
    this.#state = 'gone';
    this.#ws = undefined;
    this.#brake = undefined;
    if (this.#isAppGone) this.#keeper.onDone(this);
  }

  #clientLost(why: string): void {
    const code = cutCode(why);
    if (code === MESSAGE_TOO_BIG) this.#warnTooBig();
    if (code !== undefined) this.#client.close(code);
    else if (why === UNREAD_CLOSE) this.#client.close();
    else this.#client.end();
  }

  #warnTooBig(): void {
    this.#keeper.warn(tooBigText(this.#keeper.options.maxMessageBytes, 'UWSRP_WS_MAX_MESSAGE'));
  }

  #pauseApp(): void {
    if (this.#isAppPaused) return;
    this.#isAppPaused = true;
    this.#client.pause();
  }

  #releaseClient(): void {
    if (!this.#isClientPaused) return;
    this.#isClientPaused = false;
    this.#brake?.resume();
  }
}
