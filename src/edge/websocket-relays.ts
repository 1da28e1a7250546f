import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocketBehavior } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { WebSocketOutbox } from '../upstream/websocket-outbox.ts';
import { compressOptions } from './websocket-compression.ts';
import {
  type RelayKeeper,
  type RelayOptions,
  type RelaySocket,
  type UpgradeRequest,
  WebSocketRelay,
} from './websocket-relay.ts';
import { judgeUpgrade } from './websocket-request.ts';

/** What the HTTP side does for WebSockets. */
export interface WebSocketRelayDependencies {
  readonly log: Logger;
  /** Where the app listens now. */
  target(): UpstreamTarget;
  /**
   * Reads a valid handshake while `req` may be read; undefined when it has answered it itself (a redirect, a bad host, a
   * proxy that is shutting down). What must be forgotten of the connection before an upgrade is forgotten here.
   */
  readRequest(res: HttpResponse, req: HttpRequest): UpgradeRequest | undefined;
  /** Answers a handshake that is not valid; 426 goes with `Sec-WebSocket-Version: 13`. */
  refuseRequest(res: HttpResponse, req: HttpRequest, code: ErrorCode): void;
}

export interface WebSocketRelaysOptions extends RelayOptions {
  /** Silence, pings included, after which a client is taken for dead; 0 for never. */
  readonly idleTimeoutMs: number;
  /** Each peer hears from us at least every nine of these. */
  readonly pingTickMs: number;
}

/** The design gives these no variable: a dead app must not hold a client for ever, nor a silent peer a close. */
const CONNECT_TIMEOUT_MS = 5_000;
const HANDSHAKE_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 5_000;

/** Makes it 45 s. */
const PING_TICK_MS = 5_000;

/** Two of the largest messages may wait for a slow app, and no less than this. */
const MIN_BACKLOG_BYTES = 4 * 1024 * 1024;

export function webSocketOptions(config: Config): WebSocketRelaysOptions {
  return {
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
    maxHeadBytes: config.maxHeaderBytes,
    maxMessageBytes: config.wsMaxMessageBytes,
    maxBacklogBytes: Math.max(2 * config.wsMaxMessageBytes, MIN_BACKLOG_BYTES),
    compression: config.wsCompression,
    idleTimeoutMs: config.wsIdleTimeoutMs,
    pingTickMs: PING_TICK_MS,
  };
}

/** uWebSockets.js allows 8 to 960 seconds, or 0 for none, and ends the process for anything else. */
const MIN_IDLE_SECONDS = 8;
const MAX_IDLE_SECONDS = 960;

/**
 * It pings once a client has been silent for all but 16 seconds of its idle timeout, so up to this timeout it pings
 * often enough: routers cut what is silent for 55 s (Heroku). For a longer one we ping.
 */
const MAX_SELF_PINGING_SECONDS = 64;

/** A ping is due so many ticks after the last. */
const PING_TICKS = 8;

/**
 * uWebSockets.js cuts a client, without a close frame, as soon as a frame announces more than its limit. Up to twice
 * ours (or half a megabyte, which it reads at once anyway) the message is let in and answered with 1009.
 */
const MIN_READ_LIMIT = 512 * 1024;
const MAX_READ_LIMIT = 0x7fffffff;

/** Patterns by which our routes match what no other route took. */
export interface CatchAllPatterns {
  readonly ws: string;
  readonly any: string;
}

/** All WebSockets of this thread: the uWebSockets.js side of them, how many there are, and their end. */
export class WebSocketRelays implements RelayKeeper {
  readonly options: WebSocketRelaysOptions;
  readonly outbox = new WebSocketOutbox();
  readonly opened: RelaySocket[] = [];
  readonly #deps: WebSocketRelayDependencies;
  readonly #pending = new Set<WebSocketRelay>();
  readonly #open = new Set<WebSocketRelay>();
  readonly #pingsClients: boolean;
  #tick = 0;
  #ticker: NodeJS.Timeout | undefined;
  #isClosing = false;
  #onEmpty: (() => void)[] = [];
  /** The relay whose handshake is about to come by a second time. */
  #latest: WebSocketRelay | undefined;

  constructor(deps: WebSocketRelayDependencies, options: WebSocketRelaysOptions) {
    this.#deps = deps;
    this.options = options;
    const idleSeconds = idleSecondsOf(options.idleTimeoutMs);
    this.#pingsClients = idleSeconds === 0 || idleSeconds > MAX_SELF_PINGING_SECONDS;
  }

  /**
   * Takes the WebSocket handshakes of the app, and gives every other request to `otherwise`, which is to refuse those
   * that `judgeUpgrade` finds fault with. To be called instead of `app.any('/*')`.
   *
   * A handshake comes by the second handler too, for a second response object of its connection (see `WebSocketBrake`).
   * So every other route of the app that matches a handshake which is to be relayed must yield it: see `isPassing`.
   *
   * Both patterns must match everything.
   */
  register(
    app: TemplatedApp,
    otherwise: (res: HttpResponse, req: HttpRequest) => void,
    patterns: CatchAllPatterns = { ws: '/*', any: '/*' },
  ): void {
    app.ws(patterns.ws, this.#behavior());
    app.any(patterns.any, (res, req) => {
      const relay = this.isPassing(req) ? this.#latest : undefined;
      this.#latest = undefined;
      if (relay === undefined) otherwise(res, req);
      else relay.spareResponse = res;
    });
  }

  /** Whether this is a handshake that is relayed already, on its way to the second handler. */
  isPassing(req: HttpRequest): boolean {
    return this.#latest !== undefined && this.#latest.key === req.getHeader('sec-websocket-key');
  }

  #behavior(): WebSocketBehavior<unknown> {
    const { idleTimeoutMs, maxMessageBytes, compression } = this.options;
    const idleSeconds = idleSecondsOf(idleTimeoutMs);
    return {
      compression: compressOptions(compression),
      // Holds for what a message inflates to, as well.
      maxPayloadLength: Math.min(Math.max(2 * maxMessageBytes, MIN_READ_LIMIT), MAX_READ_LIMIT),
      idleTimeout: idleSeconds,
      sendPingsAutomatically: idleSeconds !== 0,
      // No limit of its own, beyond which it would drop messages: the app is not read while a client is behind.
      maxBackpressure: 0,
      upgrade: (res, req, context) => this.#onUpgrade(res, req, context),
      // A built-in, bound: see `upgradeClient`.
      open: this.opened.push.bind(this.opened) as (ws: unknown) => void,
      message: (ws, message, isBinary) => (ws as RelaySocket).relay!.clientMessage(message, isBinary),
      drain: (ws) => (ws as RelaySocket).relay!.clientDrained(),
      close: (ws, code, reason) => {
        const { relay } = ws as RelaySocket;
        // Without one it is closed within its upgrade.
        if (relay === undefined) this.opened.length = 0;
        else relay.clientClosed(code, reason);
      },
    };
  }

  /** WebSockets that are open, on at least one side. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Handshakes that wait for the app's answer. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Closes every WebSocket on both sides with 1001, refuses what is and will be pending; gives when all are gone. */
  closeAll(): Promise<void> {
    this.#isClosing = true;
    for (const relay of [...this.#pending, ...this.#open]) relay.goAway();
    return this.whenEmpty();
  }

  /** Cuts whatever is left. */
  terminateAll(): void {
    this.#isClosing = true;
    for (const relay of [...this.#pending, ...this.#open]) relay.terminate();
  }

  /** From `closeAll` on no WebSocket is opened. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  get isEmpty(): boolean {
    return this.#open.size + this.#pending.size === 0;
  }

  whenEmpty(): Promise<void> {
    if (this.isEmpty) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
    });
  }

  // --- For the relays ---

  target(): UpstreamTarget {
    return this.#deps.target();
  }

  onOpen(relay: WebSocketRelay): void {
    this.#pending.delete(relay);
    this.#open.add(relay);
    relay.pingTick = this.#tick + PING_TICKS;
    this.#ticker ??= setInterval(() => this.#onTick(), this.options.pingTickMs).unref();
  }

  onDone(relay: WebSocketRelay): void {
    this.#pending.delete(relay);
    this.#open.delete(relay);
    if (this.#open.size > 0) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
    if (this.#pending.size === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  warn(why: string): void {
    this.#deps.log.warn(why);
  }

  // --- Internal ---

  #onUpgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const verdict = judgeUpgrade(req);
    if (verdict === 'none') {
      req.setYield(true);
    } else if (verdict !== 'valid') {
      this.#deps.refuseRequest(res, req, verdict);
    } else if (this.#isClosing) {
      this.#deps.refuseRequest(res, req, 'DRAINING');
    } else {
      const handshake = {
        key: req.getHeader('sec-websocket-key'),
        extensions: req.getHeader('sec-websocket-extensions'),
        context,
      };
      const request = this.#deps.readRequest(res, req);
      if (request === undefined) return;
      this.#latest = new WebSocketRelay(this, request, res, handshake);
      this.#pending.add(this.#latest);
      req.setYield(true);
    }
  }

  #onTick(): void {
    this.#tick += 1;
    for (const relay of this.#open) {
      if (relay.pingTick > this.#tick) continue;
      relay.pingTick = this.#tick + PING_TICKS;
      relay.ping(this.#pingsClients);
    }
  }
}

function idleSecondsOf(ms: number): number {
  if (ms === 0) return 0;
  return Math.min(Math.max(Math.ceil(ms / 1000), MIN_IDLE_SECONDS), MAX_IDLE_SECONDS);
}
