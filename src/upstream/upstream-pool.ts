import { UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import type { UpstreamExchange } from './exchange.ts';
import { type ConnectionOwner, UpstreamConnection } from './upstream-connection.ts';

export interface UpstreamPoolOptions {
  readonly target: UpstreamTarget;
  /** Most connections to the app; further exchanges wait in order. Default 1024. */
  readonly maxConnections?: number;
  /** Milliseconds a connect may take. Default 5000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds an exchange may wait for a connection. Default 30000. */
  readonly queueTimeoutMs?: number;
  /**
   * Milliseconds a connection may be idle. Default 4000: Node's servers close at 5 s, and a request sent into that
   * close would be lost.
   */
  readonly idleTimeoutMs?: number;
}

export interface PoolCounters {
  /** Connections with an exchange on them, those still connecting included. */
  readonly inUse: number;
  readonly idle: number;
  readonly waiting: number;
}

/** How often idle connections and waiting exchanges are looked through. */
const SWEEP_INTERVAL_MS = 500;

/**
 * Keep-alive connections to the app. The connection used last is used first, so that a small load keeps few of them.
 * An exchange is sent a second time only when the first connection was an old one, no byte of a response came, and
 * the request may be repeated: the app had closed the idle connection while the request was on its way.
 */
export class UpstreamPool implements ConnectionOwner {
  readonly #options: Required<UpstreamPoolOptions>;
  readonly #idle: UpstreamConnection[] = [];
  readonly #inUse = new Set<UpstreamConnection>();
  /** Exchanges that wait, in order, with the time at which they give up. */
  readonly #waiting = new Map<UpstreamExchange, number>();
  readonly #retried = new WeakSet<UpstreamExchange>();
  #sweeper: NodeJS.Timeout | undefined;
  #lastConnectSucceeded = true;
  /** A connection that no exchange asked for, while it connects. */
  #probe: UpstreamConnection | undefined;

  constructor(options: UpstreamPoolOptions) {
    this.#options = {
      maxConnections: 1024,
      connectTimeoutMs: 5000,
      queueTimeoutMs: 30_000,
      idleTimeoutMs: 4000,
      ...options,
    };
  }

  get counters(): PoolCounters {
    return { inUse: this.#inUse.size, idle: this.#idle.length, waiting: this.#waiting.size };
  }

  /**
   * Whether the last connect to the app succeeded. When it did not, another is tried, so that who asks again learns of
   * an app that is back: a platform that heard "no" sends no requests, which would be the next to connect.
   */
  checkReachable(): boolean {
    if (!this.#lastConnectSucceeded) this.#probe ??= this.#open();
    return this.#lastConnectSucceeded;
  }

  /** Sends the exchange at once, or as soon as a connection is free. */
  dispatch(exchange: UpstreamExchange): void {
    const connection = this.#takeIdle() ?? this.#open();
    if (connection !== undefined) {
      connection.send(exchange);
      return;
    }
    this.#waiting.set(exchange, performance.now() + this.#options.queueTimeoutMs);
    this.#startSweeper();
  }

  /** Forgets an exchange that waits for a connection; one that has a connection abandons that instead. */
  cancel(exchange: UpstreamExchange): void {
    this.#waiting.delete(exchange);
  }

  /** Closes every connection and fails what waits. For the stop, when nothing is in flight any more. */
  close(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
    for (const connection of [...this.#idle, ...this.#inUse]) connection.abandon();
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const exchange of waiting) exchange.onFailure(new UwsrpError('DRAINING', 'uwsrp is stopping'));
  }

  onConnected(connection: UpstreamConnection): void {
    this.#lastConnectSucceeded = true;
    if (connection !== this.#probe) return;
    this.#probe = undefined;
    this.onReusable(connection);
  }

  onReusable(connection: UpstreamConnection): void {
    const next = this.#takeWaiting();
    if (next !== undefined) {
      connection.send(next);
      return;
    }
    this.#inUse.delete(connection);
    const announcedMs = connection.keepAliveTimeout * 1000;
    // A second less than the app announces: our request must be there before its timer is.
    connection.idleLimitMs =
      announcedMs < 0 ? this.#options.idleTimeoutMs : Math.min(this.#options.idleTimeoutMs, announcedMs - 1000);
    if (connection.idleLimitMs <= 0) {
      connection.abandon();
      return;
    }
    connection.idleSince = performance.now();
    this.#idle.push(connection);
    this.#startSweeper();
  }

  onClosed(connection: UpstreamConnection, exchange: UpstreamExchange | undefined, error: UwsrpError): void {
    if (!this.#inUse.delete(connection)) {
      const index = this.#idle.indexOf(connection);
      if (index !== -1) this.#idle.splice(index, 1);
    }
    if (connection === this.#probe) this.#probe = undefined;
    if (error.code === 'UPSTREAM_REFUSED') this.#lastConnectSucceeded = false;
    if (exchange !== undefined) {
      if (connection.isRetryAllowed && exchange.isReplayable && !this.#retried.has(exchange)) {
        this.#retried.add(exchange);
        this.#sendOnFreshConnection(exchange);
      } else {
        exchange.onFailure(error);
      }
    }
    this.#serveWaiting();
  }

  /** A second stale connection must not eat the only retry. */
  #sendOnFreshConnection(exchange: UpstreamExchange): void {
    const connection = this.#open();
    if (connection !== undefined) connection.send(exchange);
    else this.dispatch(exchange);
  }

  #takeIdle(): UpstreamConnection | undefined {
    const now = this.#idle.length > 0 ? performance.now() : 0;
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return undefined;
      if (now - connection.idleSince < connection.idleLimitMs) {
        this.#inUse.add(connection);
        return connection;
      }
      connection.abandon();
    }
  }

  #open(): UpstreamConnection | undefined {
    if (this.#inUse.size + this.#idle.length >= this.#options.maxConnections) return undefined;
    const connection = new UpstreamConnection(this, this.#options);
    this.#inUse.add(connection);
    return connection;
  }

  #takeWaiting(): UpstreamExchange | undefined {
    for (const exchange of this.#waiting.keys()) {
      this.#waiting.delete(exchange);
      return exchange;
    }
    return undefined;
  }

  #serveWaiting(): void {
    while (this.#waiting.size > 0) {
      const connection = this.#open();
      if (connection === undefined) return;
      connection.send(this.#takeWaiting()!);
    }
  }

  #startSweeper(): void {
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#idle.filter((each) => now - each.idleSince >= each.idleLimitMs))
      connection.abandon();
    for (const [exchange, deadline] of this.#waiting) {
      if (now < deadline) break;
      this.#waiting.delete(exchange);
      const waitedMs = this.#options.queueTimeoutMs;
      exchange.onFailure(new UwsrpError('QUEUE_TIMEOUT', `all connections to the app were busy for ${waitedMs} ms`));
    }
    if (this.#idle.length > 0 || this.#waiting.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
