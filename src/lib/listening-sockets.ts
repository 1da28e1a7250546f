import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

/** A line of the kernel's table of TCP sockets (proc(5), `/proc/net/tcp`) in the state of listening. */
export interface ListeningSocket {
  readonly inode: string;
  readonly port: number;
  /** `127.0.0.1`, `0.0.0.0`, `::1`, `::`, … */
  readonly address: string;
}

const LISTEN_STATE = '0A';
const PIECE_BYTES = 16 * 1024;

/** All listening TCP sockets of this network namespace. Empty where there is no /proc. */
export function readListeningSockets(): ListeningSocket[] {
  return [...readTable('tcp'), ...readTable('tcp6')];
}

/** The sockets that a process holds. Empty for processes whose descriptors may not be read (another user's). */
export function socketsOf(pid: number): { descriptor: number; inode: string }[] {
  const folder = `/proc/${pid}/fd`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1];
      return inode === undefined ? [] : { descriptor: Number(name), inode };
    } catch {
      return [];
    }
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

/**
 * A piece at a time: on a busy machine the table has tens of thousands of lines, and as one text it takes ten megabytes
 * that stay with the process.
 */
function readTable(name: 'tcp' | 'tcp6'): ListeningSocket[] {
  const found: ListeningSocket[] = [];
  let file: number | undefined;
  try {
    file = openSync(`/proc/net/${name}`, 'r');
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let rest = '';
    for (let length = readSync(file, piece); length > 0; length = readSync(file, piece)) {
      const text = rest + piece.toString('latin1', 0, length);
      const end = text.lastIndexOf('\n') + 1;
      found.push(...listeningIn(text.slice(0, end)));
      rest = text.slice(end);
    }
    return found;
  } catch {
    return [];
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function listeningIn(lines: string): ListeningSocket[] {
  // Nearly all pieces of a long table have none.
  if (!lines.includes(` ${LISTEN_STATE} `)) return [];
  return lines
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTEN_STATE)
    .map((fields) => {
      const [address = '', port = ''] = (fields[1] ?? '').split(':');
      return { inode: fields[9] ?? '', port: Number.parseInt(port, 16), address: parseAddress(address) };
    });
}
