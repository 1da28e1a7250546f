import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A listening TCP socket, and a process that holds it. */
export interface Listener {
  readonly pid: number;
  readonly port: number;
  /** `127.0.0.1`, `0.0.0.0`, `::1`, `::`, … */
  readonly address: string;
}

const LISTEN_STATE = '0A';

/**
 * The TCP ports that the given processes listen on, from `/proc` (proc(5)); only `port`, if one is given. Empty where
 * there is no /proc; processes whose descriptors may not be read (another user's) count as listening on nothing.
 */
export function listenersOf(pids: Iterable<number>, port?: number): Listener[] {
  const listening = [...readTable('tcp'), ...readTable('tcp6')];
  const wanted = port === undefined ? listening : listening.filter((socket) => socket.port === port);
  // To look through the descriptors of many processes takes long.
  if (wanted.length === 0) return [];
  const sockets = new Map(wanted.map((socket) => [socket.inode, socket]));
  const listeners: Listener[] = [];
  for (const pid of pids) {
    const seen = new Set(socketInodes(pid));
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

function readTable(name: 'tcp' | 'tcp6'): { inode: string; port: number; address: string }[] {
  let text: string;
  try {
    text = readFileSync(`/proc/net/${name}`, 'latin1');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTEN_STATE)
    .map((fields) => {
      const [address = '', port = ''] = (fields[1] ?? '').split(':');
      return { inode: fields[9] ?? '', port: Number.parseInt(port, 16), address: parseAddress(address) };
    });
}

/** The kernel prints addresses as 32-bit words in the byte order of the machine. */
export function parseAddress(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex')].reverse());
  const tail = bytes.slice(-4).join('.');
  if (bytes.length === 4) return tail;
  if (bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff) return tail;
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2]! << 8) | bytes[at * 2 + 1]!).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function socketInodes(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
}
