import { UwsrpError } from '../lib/errors.ts';
import { turnNow } from '../lib/turn-clock.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import type { UpstreamExchange } from './exchange.ts';
import { type ConnectionOwner, UpstreamConnection } from './upstream-connection.ts';

export interface UpstreamPoolOptions {
  readonly target: UpstreamTarget;
  /** Most connections to the app; further exchanges wait in order. Default 1024. */
  readonly maxConnections?: number;
  /** Milliseconds a connect may take. Default 5000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds the app may owe the first byte of a response. Default 0: no limit. */
  readonly responseTimeoutMs?: number;
  /** Milliseconds an exchange may wait for a connection. Default 30000. */
  readonly queueTimeoutMs?: number;
  /**
   * Milliseconds a connection may be idle. Default 4000: Node's servers close at 5 s, and a request sent into that
   * close would be lost.
   */
  readonly idleTimeoutMs?: number;
  /** Most exchanges on one connection at a time, of those that may share. Default 1. */
  readonly pipelining?: number;
  /** The clock, in milliseconds. Default `turnNow`. */
  readonly now?: () => number;
}

export interface PoolCounters {
  /** Connections with an exchange on them, those still connecting included. */
  readonly inUse: number;
  readonly idle: number;
  readonly waiting: number;
}

/** How often idle connections, waiting exchanges and overdue responses are looked for; shorter for short timeouts. */
const SWEEP_INTERVAL_MS = 500;
const SHORTEST_SWEEP_INTERVAL_MS = 50;

/**
 * This part of the connections is not for requests whose body is still arriving: however many clients send slowly,
 * some connections are left for requests that are complete.
 */
const SHARE_WITHOUT_UPLOADS = 1 / 4;

/**
 * Keep-alive connections to the app. The connection used last is used first, so that a small load keeps few of them.
 * An exchange is sent a second time only when the first connection was an old one, no byte of a response came, and
 * the request may be repeated or nothing of it was sent: the app had closed the idle connection while the request was on
 * its way.
 */
export class UpstreamPool implements ConnectionOwner {
  readonly #options: Required<UpstreamPoolOptions>;
  readonly #maxUploads: number;
  readonly #sweepIntervalMs: number;
  readonly #idle: UpstreamConnection[] = [];
  /** Connections in use that had room for one more when they were last looked at. */
  readonly #shared = new Set<UpstreamConnection>();
  /** Exchanges that were lost behind another one: they are sent first in line the next time, so that this ends. */
  readonly #overtaken = new WeakSet<UpstreamExchange>();
  /** All there are, idle or not: a set that changes with each request would cost more than all else here. */
  readonly #connections = new Set<UpstreamConnection>();
  /** Exchanges that wait, in order, with the time at which they give up. */
  readonly #waiting = new Map<UpstreamExchange, number>();
  /** The same for those whose request is still arriving. */
  readonly #waitingUploads = new Map<UpstreamExchange, number>();
  /** Connections on which a request's body is still arriving. */
  #uploads = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #lastConnectSucceeded = true;
  #isClosed = false;
  /** A connection that no exchange asked for, while it connects. */
  #probe: UpstreamConnection | undefined;

  constructor(options: UpstreamPoolOptions) {
    this.#options = {
      maxConnections: 1024,
      connectTimeoutMs: 5000,
      responseTimeoutMs: 0,
      queueTimeoutMs: 30_000,
      idleTimeoutMs: 4000,
      pipelining: 1,
      now: turnNow,
      ...options,
    };
    const { maxConnections, queueTimeoutMs, responseTimeoutMs } = this.#options;
    this.#maxUploads = maxConnections - Math.floor(maxConnections * SHARE_WITHOUT_UPLOADS);
    const shortestMs = Math.min(queueTimeoutMs, responseTimeoutMs || queueTimeoutMs);
    this.#sweepIntervalMs = Math.min(SWEEP_INTERVAL_MS, Math.max(SHORTEST_SWEEP_INTERVAL_MS, shortestMs / 4));
  }

  /** Where the app listens. */
  get target(): UpstreamTarget {
    return this.#options.target;
  }

  get counters(): PoolCounters {
    return {
      inUse: this.#connections.size - this.#idle.length,
      idle: this.#idle.length,
      waiting: this.#waiting.size + this.#waitingUploads.size,
    };
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
    if (this.#isClosed) {
      exchange.onFailure(closedError());
    } else if (!this.#trySend(exchange)) {
      const queue = exchange.isRequestComplete ? this.#waiting : this.#waitingUploads;
      queue.set(exchange, this.#options.now() + this.#options.queueTimeoutMs);
      this.#startSweeper();
    } else if (this.#options.responseTimeoutMs > 0) {
      this.#startSweeper();
    }
  }

  /** The client has sent all of its request: if it still waits, it needs no longer wait as an upload. */
  onRequestComplete(exchange: UpstreamExchange): void {
    const deadline = this.#waitingUploads.get(exchange);
    if (deadline === undefined) return;
    this.#waitingUploads.delete(exchange);
    if (!this.#trySend(exchange)) this.#waiting.set(exchange, deadline);
  }

  /** Forgets an exchange that waits for a connection; one that has a connection abandons that instead. */
  cancel(exchange: UpstreamExchange): void {
    this.#waiting.delete(exchange);
    this.#waitingUploads.delete(exchange);
  }

  /** Closes every connection, and fails what is in flight, what waits and what comes later. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
    const waiting = [...this.#waiting.keys(), ...this.#waitingUploads.keys()];
    this.#waiting.clear();
    this.#waitingUploads.clear();
    for (const exchange of waiting) exchange.onFailure(closedError());
    for (const connection of [...this.#connections]) connection.fail(closedError());
  }

  onUploadStart(): void {
    this.#uploads += 1;
  }

  onUploadEnd(): void {
    this.#uploads -= 1;
    this.#serveWaiting();
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
      if (this.#mayShare(next)) this.onRoom(connection);
      return;
    }
    const announcedMs = connection.keepAliveTimeout * 1000;
    // A second less than the app announces: our request must be there before its timer is.
    connection.idleLimitMs =
      announcedMs < 0 ? this.#options.idleTimeoutMs : Math.min(this.#options.idleTimeoutMs, announcedMs - 1000);
    if (connection.idleLimitMs <= 0) {
      connection.close();
      return;
    }
    connection.isReused = true;
    connection.idleSince = this.#options.now();
    this.#idle.push(connection);
    this.#startSweeper();
  }

  onRoom(connection: UpstreamConnection): void {
    while (connection.hasRoom) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#mayShare(first[0])) {
        this.#shared.add(connection);
        return;
      }
      this.cancel(first[0]);
      connection.send(first[0]);
    }
  }

  onClosed(
    connection: UpstreamConnection,
    exchange: UpstreamExchange | undefined,
    behind: readonly UpstreamExchange[],
    error: UwsrpError,
  ): void {
    this.#connections.delete(connection);
    this.#shared.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    if (connection === this.#probe) this.#probe = undefined;
    if (error.code === 'UPSTREAM_REFUSED') this.#lastConnectSucceeded = false;
    if (exchange !== undefined) {
      const isLost = error.code === 'UPSTREAM_CLOSED' && connection.mayRetry(exchange);
      // On a fresh one, so that it cannot be lost in the same way again. There is room: one has just gone.
      const fresh = isLost ? this.#open() : undefined;
      if (fresh !== undefined) fresh.send(exchange);
      else exchange.onFailure(error);
    }
    for (const each of behind) {
      this.#overtaken.add(each);
      this.dispatch(each);
    }
    this.#serveWaiting();
  }

  #takeIdle(): UpstreamConnection | undefined {
    const now = this.#idle.length > 0 ? this.#options.now() : 0;
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return undefined;
      if (now - connection.idleSince < connection.idleLimitMs) return connection;
      connection.close();
    }
  }

  #open(): UpstreamConnection | undefined {
    if (this.#isClosed || this.#connections.size >= this.#options.maxConnections) return undefined;
    const connection = new UpstreamConnection(this, this.#options);
    this.#connections.add(connection);
    return connection;
  }

  #trySend(exchange: UpstreamExchange): boolean {
    if (!exchange.isRequestComplete && this.#uploads >= this.#maxUploads) return false;
    const mayShare = this.#mayShare(exchange);
    const connection = this.#takeIdle() ?? (mayShare ? this.#takeShared() : undefined) ?? this.#open();
    if (connection === undefined) return false;
    connection.send(exchange);
    if (mayShare && connection.hasRoom) this.#shared.add(connection);
    return true;
  }

  #mayShare(exchange: UpstreamExchange): boolean {
    return this.#options.pipelining > 1 && exchange.isShareable && !this.#overtaken.has(exchange);
  }

  #takeShared(): UpstreamConnection | undefined {
    for (const connection of this.#shared) {
      if (connection.hasRoom) return connection;
      this.#shared.delete(connection);
    }
    return undefined;
  }

  /** The one that has waited longest and may be sent. */
  #takeWaiting(): UpstreamExchange | undefined {
    if (this.#waiting.size === 0 && this.#waitingUploads.size === 0) return undefined;
    const [first] = this.#waiting;
    const [firstUpload] = this.#uploads < this.#maxUploads ? this.#waitingUploads : [];
    const isUploadNext = firstUpload !== undefined && (first === undefined || firstUpload[1] < first[1]);
    const next = isUploadNext ? firstUpload[0] : first?.[0];
    if (next !== undefined) this.cancel(next);
    return next;
  }

  #serveWaiting(): void {
    while (this.#waiting.size > 0 || (this.#waitingUploads.size > 0 && this.#uploads < this.#maxUploads)) {
      const connection = this.#takeIdle() ?? this.#open();
      if (connection === undefined) return;
      // To look for one may have closed others, and so have served what waited.
      this.onReusable(connection);
    }
  }

  #startSweeper(): void {
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#sweepIntervalMs).unref();
  }

  #sweep(): void {
    const now = this.#options.now();
    for (const connection of this.#idle.filter((each) => now - each.idleSince >= each.idleLimitMs)) connection.close();
    this.#failOverdue(this.#waiting, now);
    this.#failOverdue(this.#waitingUploads, now);
    const { responseTimeoutMs } = this.#options;
    if (responseTimeoutMs > 0)
      for (const connection of this.#connections) connection.checkResponse(now, responseTimeoutMs);

    if (this.#idle.length > 0 || this.#waiting.size > 0 || this.#waitingUploads.size > 0) return;
    if (responseTimeoutMs > 0 && this.#connections.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #failOverdue(queue: Map<UpstreamExchange, number>, now: number): void {
    const { queueTimeoutMs } = this.#options;
    for (const [exchange, deadline] of queue) {
      if (now < deadline) continue;
      queue.delete(exchange);
      const reason = `all connections to the app were busy for ${queueTimeoutMs} ms (UWSRP_APP_QUEUE_TIMEOUT)`;
      exchange.onFailure(new UwsrpError('QUEUE_TIMEOUT', reason));
    }
  }
}

function closedError(): UwsrpError {
  return new UwsrpError('DRAINING', 'uwsrp is stopping');
}
