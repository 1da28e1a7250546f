import type { Config, Platform } from '../config/config.ts';
import { turnNow } from '../lib/turn-clock.ts';
import { createPeerAddress, UNKNOWN_PEER } from './peer-address.ts';
import { PortPeers } from './port-peers.ts';
import { type HasRemotePort, type HttpResponse, isNewerBuild, type TemplatedApp } from './uws.ts';

export interface KeepAliveOptions {
  /** Milliseconds an idle client connection is kept (`UWSRP_KEEP_ALIVE_TIMEOUT`). */
  readonly timeoutMs: number;
  /** Most idle connections kept past uWebSockets.js's own 10 s (`UWSRP_KEEP_ALIVE_MAX`). */
  readonly maxConnections: number;
}

/** Platforms whose routers are known to pool connections to the app (platforms.md section 1). */
const POOLING_PLATFORMS: readonly (Platform | undefined)[] = [
  'heroku',
  'render',
  'scalingo',
  'fly',
  'railway',
  'cloud-run',
  'app-platform',
];

/** What `UWSRP_KEEP_ALIVE` means on this platform with this build of uWebSockets.js. */
export interface KeepAlivePolicy {
  /** Every answer says `Connection: close`. */
  readonly closesAlways: boolean;
  /** An answer whose connection cannot be kept long enough says it too: a router would use the connection later. */
  readonly closesWhenFull: boolean;
  /** Idle connections are kept past uWebSockets.js's own 10 s. */
  readonly keepsIdle: boolean;
}

export function keepAlivePolicy(
  config: Pick<Config, 'keepAlive' | 'keepAliveMax' | 'platform'>,
  isPossible: boolean,
): KeepAlivePolicy {
  const keepsIdle = isPossible && config.keepAlive !== 'off' && config.keepAliveMax > 0;
  const isPooled = config.keepAlive === 'auto' && POOLING_PLATFORMS.includes(config.platform);
  return {
    closesAlways: config.keepAlive === 'off' || (isPooled && !keepsIdle),
    closesWhenFull: isPooled && keepsIdle,
    keepsIdle,
  };
}

type Socket = HttpResponse & HasRemotePort;

/** A client connection that is open. */
interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  readonly port: number;
  idleSince: number;
  /** Its place among the idle ones; -1 while it is not one of them. */
  idleIndex: number;
}

/** A connection between requests: handed back when the next answer is complete. */
export type KeptConnection = Connection;

/** What `getRemotePort` of a closed connection gives: 2^32 - 1. */
const CLOSED_PORT = 4294967295;
/** uWebSockets.js closes an idle connection after 10 to 14 s; a touch at least this often keeps it. */
const TOUCH_INTERVAL_MS = 4000;
const OWN_IDLE_MS = 10_000;

/** Most connections that are remembered: of those that close without a request nobody hears which they were. */
const MAX_KNOWN = 65_536;

/**
 * Keeps idle client connections for longer than the 10 s that are compiled into uWebSockets.js. Routers pool
 * connections for 60 to 600 s, and a request that races with our close becomes a 502 there (Heroku's H13, H18).
 *
 * The response object that `app.filter` hands over when a connection opens stays valid until that connection closes,
 * and `pause()` followed at once by `resume()` starts the 10 s anew. It is a raw pointer underneath, and using it after
 * the close or an upgrade would be memory corruption. Hence the rules of this file, which nothing else may break:
 *
 * - Only connections in `#idle` are touched: they have completed a request and not begun another.
 * - A close is told by `filter(…, -1)` without saying whose it was. The closed one is found there and then among the
 *   idle ones: it does not give its own port any more. Nor does one whose peer has reset it and whose close is told
 *   later, perhaps in another turn, when the memory of this one is gone: so all that do not are left alone from then on.
 * - One that closes while it is not idle is never touched again: to be touched it would have to complete a request
 *   first, and a request on the same port and peer comes from a new connection, which has replaced it in `#open`. For
 *   that, a connection that is gone before its port or its peer could be read is never in `#open`.
 * - An upgrade forgets the connection before `upgrade()` is called.
 */
export class KeepAlive {
  readonly #options: KeepAliveOptions;
  /** Who is behind which port. */
  readonly peers = new PortPeers();
  readonly #peerAddress = createPeerAddress();
  /** By port, which nearly always names one connection; those of further peers on the same port are chained by key. */
  readonly #open = new Map<number, Connection[]>();
  #knownCount = 0;
  /** Each at its `idleIndex`: a set would grow and shrink with each request. */
  readonly #idle: Connection[] = [];
  #toucher: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(app: TemplatedApp, options: KeepAliveOptions) {
    this.#options = options;
    const onOpenOrClose = (res: HttpResponse, count: number) => {
      if (count > 0) this.#onOpen(res as Socket);
      else this.#onClose();
    };
    app.filter(onOpenOrClose as Parameters<TemplatedApp['filter']>[0]);
  }

  /** Whether this build of uWebSockets.js has what it takes: the one for Node 20 does not. */
  static isPossible(app: TemplatedApp): boolean {
    return isNewerBuild(app);
  }

  /** No further connection can be kept: one more answer should close its own. */
  get isFull(): boolean {
    return this.#idle.length >= this.#options.maxConnections;
  }

  /** Connections that were opened and, as far as is known, not closed. */
  get knownCount(): number {
    return this.#knownCount;
  }

  /** A request begins: its connection is not idle any more. Undefined when the connection is not known. */
  onRequest({ port, peer }: Pick<Connection, 'port' | 'peer'>): KeptConnection | undefined {
    const known = this.#open.get(port);
    if (known === undefined) return undefined;
    const connection = known[0]!.peer === peer ? known[0]! : known.find((each) => each.peer === peer);
    if (connection !== undefined) this.#leaveIdle(connection);
    return connection;
  }

  /** The answer is complete, the request too, and the connection stays open. */
  onIdle(connection: KeptConnection): void {
    if (this.#isStopped || this.isFull) {
      this.forget(connection);
      return;
    }
    connection.idleSince = turnNow();
    if (connection.idleIndex === -1) connection.idleIndex = this.#idle.push(connection) - 1;
    this.#toucher ??= setInterval(() => this.#touch(), TOUCH_INTERVAL_MS).unref();
  }

  /** The connection closes, is upgraded, or is in a state that nobody knows. */
  forget(connection: KeptConnection): void {
    this.#leaveIdle(connection);
    const known = this.#open.get(connection.port);
    const at = known?.indexOf(connection) ?? -1;
    if (at === -1) return;
    known!.splice(at, 1);
    this.#knownCount -= 1;
    if (known!.length === 0) this.#open.delete(connection.port);
  }

  /** Leaves idle connections to uWebSockets.js: it closes them within its own 10 s. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#toucher);
    for (const connection of this.#idle.splice(0)) connection.idleIndex = -1;
    this.#open.clear();
    this.#knownCount = 0;
  }

  #leaveIdle(connection: Connection): void {
    const { idleIndex } = connection;
    if (idleIndex === -1) return;
    connection.idleIndex = -1;
    const last = this.#idle.pop()!;
    if (last === connection) return;
    this.#idle[idleIndex] = last;
    last.idleIndex = idleIndex;
  }

  #onOpen(socket: Socket): void {
    const [port, peer] = [socket.getRemotePort(), this.#peerAddress(socket)];
    if (port === CLOSED_PORT || peer === UNKNOWN_PEER) return;
    this.peers.onOpen(port, peer);
    if (this.#isStopped) return;
    const known = this.#open.get(port) ?? [];
    const before = known.find((each) => each.peer === peer);
    if (before !== undefined) this.forget(before);
    known.push({ socket, peer, port, idleSince: 0, idleIndex: -1 });
    this.#knownCount += 1;
    // At the end of the map, whose beginning is what was opened longest ago.
    this.#open.delete(port);
    this.#open.set(port, known);
    if (this.#knownCount > MAX_KNOWN) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [oldest] of this.#open.values()) {
      this.forget(oldest!);
      return;
    }
  }

  #onClose(): void {
    for (let i = this.#idle.length - 1; i >= 0; i -= 1) {
      const connection = this.#idle[i]!;
      if (connection.socket.getRemotePort() !== connection.port) this.forget(connection);
    }
  }

  #touch(): void {
    const keepUntil = performance.now() - this.#options.timeoutMs + OWN_IDLE_MS;
    for (let i = this.#idle.length - 1; i >= 0; i -= 1) {
      const connection = this.#idle[i]!;
      // From here on uWebSockets.js's own timer runs out.
      if (connection.idleSince < keepUntil) {
        this.forget(connection);
        continue;
      }
      connection.socket.pause();
      connection.socket.resume();
    }
    if (this.#idle.length > 0) return;
    clearInterval(this.#toucher);
    this.#toucher = undefined;
  }
}
