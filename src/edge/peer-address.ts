import { SocketAddress } from 'node:net';
import type { HttpResponse } from './uws.ts';

/** Peers whose text is remembered; behind a router there are few. */
const MAX_REMEMBERED = 1024;

/** A peer that is gone: the kernel tells no address. It is no address, so that nothing it says is believed. */
export const UNKNOWN_PEER = 'unknown';

/**
 * Makes the reader of a peer's address as text. IPv4 that came over a dual-stack socket is written as IPv4, IPv6 in
 * its short form (RFC 5952). `unknown` when the connection was reset before it could be read, as a client may well do
 * right behind its request; X-Forwarded-For knows that word (RFC 7239 section 6.2).
 */
export function createPeerAddress(): (res: HttpResponse) => string {
  const known = new Map<number, string>();
  return (res) => {
    const bytes = new Uint8Array(res.getRemoteAddress());
    if (bytes.length !== 4 && !isMappedIpv4(bytes)) return ipv6Text(bytes);
    const start = bytes.length - 4;
    const [a, b, c, d] = [bytes[start]!, bytes[start + 1]!, bytes[start + 2]!, bytes[start + 3]!];
    const key = (a << 24) | (b << 16) | (c << 8) | d;
    let text = known.get(key);
    if (text === undefined) {
      text = `${a}.${b}.${c}.${d}`;
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(key, text);
    }
    return text;
  };
}

function isMappedIpv4(bytes: Uint8Array): boolean {
  if (bytes.length !== 16 || bytes[10] !== 0xff || bytes[11] !== 0xff) return false;
  for (let i = 0; i < 10; i += 1) if (bytes[i] !== 0) return false;
  return true;
}

function ipv6Text(bytes: Uint8Array): string {
  if (bytes.length !== 16) return UNKNOWN_PEER;
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i]! << 8) | bytes[i + 1]!).toString(16));
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
}
