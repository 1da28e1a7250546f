import { readListeningSockets, socketsOf } from '../lib/listening-sockets.ts';

/** A listening TCP socket, and a process that holds it. */
export interface Listener {
  readonly pid: number;
  readonly port: number;
  /** `127.0.0.1`, `0.0.0.0`, `::1`, `::`, … */
  readonly address: string;
}

/**
 * The TCP ports that the given processes listen on, from `/proc` (proc(5)); only `port`, if one is given. Empty where
 * there is no /proc; processes whose descriptors may not be read (another user's) count as listening on nothing.
 */
export function listenersOf(pids: Iterable<number>, port?: number): Listener[] {
  const listening = readListeningSockets();
  const wanted = port === undefined ? listening : listening.filter((socket) => socket.port === port);
  // To look through the descriptors of many processes takes long.
  if (wanted.length === 0) return [];
  const sockets = new Map(wanted.map((socket) => [socket.inode, socket]));
  const listeners: Listener[] = [];
  for (const pid of pids) {
    const seen = new Set(socketsOf(pid).map(({ inode }) => inode));
    for (const inode of seen) {
      const socket = sockets.get(inode);
      if (socket !== undefined) listeners.push({ pid, port: socket.port, address: socket.address });
    }
  }
  return listeners;
}

/** Whether a listener takes connections from everywhere, and not just from this machine. */
export function isOnAllInterfaces(listener: Listener): boolean {
  return listener.address === '0.0.0.0' || listener.address === '::';
}

/** Whether a connection to 127.0.0.1 or ::1 reaches the listener. */
export function isReachableOnLoopback(listener: Listener): boolean {
  return isOnAllInterfaces(listener) || listener.address === '127.0.0.1' || listener.address === '::1';
}
