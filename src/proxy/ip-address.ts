import { isIP } from 'node:net';

/**
 * Reads one address as proxies write it: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`,
 * `[2001:db8::1]:4711` (RFC 7239 section 6 describes the forms with a port). Gives the bare address, IPv4-mapped IPv6
 * written as IPv4, or undefined for anything else: `unknown`, names, zones, lists.
 */
export function addressOf(text: string): string | undefined {
  const bare = withoutPort(text.trim());
  if (isIP(bare) === 0 || bare.includes('%')) return undefined;
  return isMappedIpv4(bare) ? bare.slice('::ffff:'.length) : bare;
}

function withoutPort(text: string): string {
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    return end === -1 || !isPortSuffix(text.slice(end + 1)) ? '' : text.slice(1, end);
  }
  const colon = text.indexOf(':');
  const isIpv4WithPort = colon !== -1 && text.indexOf(':', colon + 1) === -1;
  if (!isIpv4WithPort) return text;
  return isPortSuffix(text.slice(colon)) ? text.slice(0, colon) : '';
}

/** '' or `:` and one to five digits. */
function isPortSuffix(suffix: string): boolean {
  return suffix === '' || /^:\d{1,5}$/.test(suffix);
}

function isMappedIpv4(address: string): boolean {
  return address.includes('.') && address.slice(0, '::ffff:'.length).toLowerCase() === '::ffff:';
}
