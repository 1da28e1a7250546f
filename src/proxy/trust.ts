import { BlockList, isIP } from 'node:net';
import type { TrustProxy } from '../config/config.ts';
import { UwsrpError } from '../lib/errors.ts';

/** `auto`: where a platform's router, a container bridge or a sidecar sits, and no stranger from the internet does. */
const AUTO_RANGES = [
  '10.0.0.0/8', // private, RFC 1918
  '172.16.0.0/12',
  '192.168.0.0/16',
  '127.0.0.0/8', // loopback
  '::1',
  '169.254.0.0/16', // link-local
  'fe80::/10',
  '100.64.0.0/10', // CGNAT, RFC 6598
  'fc00::/7', // unique local, RFC 4193
] as const;

const MAX_REMEMBERED = 1024;

export interface TrustOptions {
  /** Whether TLS ends with us. Then clients reach us directly, and `auto` believes nobody. */
  readonly endsTls: boolean;
}

/**
 * Makes the test whether a peer's forwarded headers are believed (`UWSRP_TRUST_PROXY`). IPv4-mapped IPv6 peers count
 * as their IPv4 address, and an IPv6 range that covers `::ffff:0:0/96` covers IPv4. What is no address is not trusted.
 *
 * @throws UwsrpError CONFIG_INVALID for a list entry that is neither an address nor a CIDR.
 */
export function createTrust(rule: TrustProxy, options: TrustOptions): (peer: string) => boolean {
  switch (rule.kind) {
    case 'all':
      return () => true;
    case 'none':
      return () => false;
    case 'auto':
      return options.endsTls ? () => false : remembered(blockListOf(AUTO_RANGES));
    case 'list':
      return remembered(blockListOf(rule.addresses));
  }
}

/** Asks the list once per address: peers are few behind a router, and a check costs a call into C++. */
function remembered(list: BlockList): (peer: string) => boolean {
  const known = new Map<string, boolean>();
  let lastPeer = '';
  let isLastTrusted = false;
  return (peer) => {
    if (peer === lastPeer) return isLastTrusted;
    let isTrusted = known.get(peer);
    if (isTrusted === undefined) {
      const family = isIP(peer);
      isTrusted = family !== 0 && list.check(peer, family === 4 ? 'ipv4' : 'ipv6');
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(peer, isTrusted);
    }
    lastPeer = peer;
    isLastTrusted = isTrusted;
    return isTrusted;
  };
}

function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const slash = entry.indexOf('/');
    const address = slash === -1 ? entry : entry.slice(0, slash);
    const family = isIP(address);
    const longest = family === 4 ? 32 : 128;
    const bits = slash === -1 ? longest : prefixLength(entry.slice(slash + 1));
    if (family === 0 || address.includes('%') || bits > longest) {
      throw new UwsrpError('CONFIG_INVALID', `UWSRP_TRUST_PROXY: "${entry}" is neither an IP address nor a CIDR`);
    }
    list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

function prefixLength(digits: string): number {
  return /^\d{1,3}$/.test(digits) ? Number(digits) : Number.POSITIVE_INFINITY;
}
