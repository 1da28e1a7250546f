import { isIPv6 } from 'node:net';

/** The longest name that DNS knows (RFC 1035 section 2.3.4); longer ones cannot be anybody's host. */
const MAX_NAME_LENGTH = 255;
const MAX_PORT = 65535;
const DOT = 46;
const COLON = 58;
const OPEN_BRACKET = 91;

/**
 * Which chars a name may hold: RFC 3986 section 3.2.2 `reg-name` (IPv4 is one too, and so is an underscore), with two
 * things left out. A comma is how a joined, repeated `Host` looks (RFC 9112 section 3.2 wants 400), and `%` hides
 * other chars from whoever decodes later; clients put names on the wire in ASCII (IDNA), never percent-encoded.
 */
const IS_NAME_CHAR = new Uint8Array(256);
for (const char of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+;=") {
  IS_NAME_CHAR[char.charCodeAt(0)] = 1;
}

// One remembered host is enough: nearly all requests name the same one, and the scan costs no more than a Set does.
let lastValid = 'localhost';

/**
 * Whether a `Host` value may be reflected and handed on: a name, an IPv4 or a bracketed IPv6 address, each with or
 * without a port up to 65535 (an empty one is legal, RFC 3986 section 3.2.3). Anything else is to be answered by 400.
 */
export function isValidHost(host: string): boolean {
  if (host === lastValid) return true;
  const end = host.charCodeAt(0) === OPEN_BRACKET ? endOfIpv6(host) : endOfName(host);
  if (end === -1 || !isPortSuffix(host, end)) return false;
  lastValid = host;
  return true;
}

/** The host of a valid `Host` value, brackets of IPv6 kept. */
export function hostWithoutPort(host: string): string {
  const colon = portColon(host);
  return colon === -1 ? host : host.slice(0, colon);
}

/** The port that a valid `Host` value names, as its digits, or undefined when it names none. */
export function portOfHost(host: string): string | undefined {
  const colon = portColon(host);
  return colon === -1 || colon === host.length - 1 ? undefined : host.slice(colon + 1);
}

function portColon(host: string): number {
  const colon = host.lastIndexOf(':');
  return host.charCodeAt(0) === OPEN_BRACKET && colon < host.indexOf(']') ? -1 : colon;
}

/** Index behind the name, or -1. Empty labels (`.a`, `a..b`) are no host: apps make folder names of hosts. */
function endOfName(host: string): number {
  let isLabelEmpty = true;
  let index = 0;
  for (; index < host.length; index++) {
    const code = host.charCodeAt(index);
    if (code === COLON) break;
    if (code > 255 || IS_NAME_CHAR[code] === 0) return -1;
    if (code === DOT && isLabelEmpty) return -1;
    isLabelEmpty = code === DOT;
  }
  return index === 0 || index > MAX_NAME_LENGTH ? -1 : index;
}

/** Index behind the closing bracket, or -1. Zones (`%eth0`) mean nothing to another machine (RFC 6874). */
function endOfIpv6(host: string): number {
  const end = host.indexOf(']');
  if (end === -1) return -1;
  const address = host.slice(1, end);
  return isIPv6(address) && !address.includes('%') ? end + 1 : -1;
}

function isPortSuffix(host: string, from: number): boolean {
  if (from === host.length) return true;
  if (host.charCodeAt(from) !== COLON || host.length - from > 6) return false;
  let port = 0;
  for (let index = from + 1; index < host.length; index++) {
    const digit = host.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return false;
    port = port * 10 + digit;
  }
  return port <= MAX_PORT;
}
