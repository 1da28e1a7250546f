import type { HttpRequest } from './uws.ts';

/** The only version of the protocol (RFC 6455 section 4.1), and what a 426 must name. */
export const WEBSOCKET_VERSION = '13';

/**
 * What a request is to the WebSocket side: `none` asks for no WebSocket; `valid` is a handshake that may reach the app;
 * the others do and must not: a bad one is 400, one of another version 426 with `Sec-WebSocket-Version: 13`.
 *
 * uWebSockets.js takes every GET with a key of 24 characters for a handshake and nothing else (RFC 6455 section 4.2.1
 * asks for more), so HTTP requests are to be held against this as well: what lacks a fit key comes in there.
 */
export type UpgradeVerdict = 'none' | 'valid' | 'BAD_REQUEST' | 'UPGRADE_REQUIRED';

/** Judges a request by its fields; one native call for a request that asks for no upgrade at all. */
export function judgeUpgrade(req: HttpRequest): UpgradeVerdict {
  const upgrade = req.getHeader('upgrade');
  if (upgrade === '' || !hasElement(upgrade, 'websocket') || !asksForUpgrade(req)) return 'none';
  // Not getMethod(), which turns the method into lower case for whoever reads it afterwards.
  if (req.getCaseSensitiveMethod() !== 'GET') return 'BAD_REQUEST';
  // A body would be read as frames, or as the next request, by one of the two hops.
  if (req.getHeader('transfer-encoding') !== '') return 'BAD_REQUEST';
  const length = req.getHeader('content-length');
  if (length !== '' && length !== '0') return 'BAD_REQUEST';
  if (req.getHeader('sec-websocket-version') !== WEBSOCKET_VERSION) return 'UPGRADE_REQUIRED';
  return isKey(req.getHeader('sec-websocket-key')) ? 'valid' : 'BAD_REQUEST';
}

/**
 * `getHeader` gives the first of several fields. uWebSockets.js closes the connection behind one whose value has five
 * bytes, `close` or not, which an upgrade contradicts (websocket-upgrade.ts): such a request asks for none.
 */
function asksForUpgrade(req: HttpRequest): boolean {
  const first = req.getHeader('connection');
  if (first.length === 5 || hasElement(first, 'close')) return false;
  if (hasElement(first, 'upgrade')) return true;
  let isFound = false;
  req.forEach((name, value) => {
    if (name === 'connection' && hasElement(value, 'upgrade')) isFound = true;
  });
  return isFound;
}

function hasElement(list: string, wanted: string): boolean {
  if (list.length === wanted.length) return list.toLowerCase() === wanted;
  return list.split(',').some((element) => element.trim().toLowerCase() === wanted);
}

/**
 * Sixteen bytes in base64. The bits of the last digit that stand for no byte may be anything: the RFC's own example of a
 * key has some set (section 4.1), and clients were built after it.
 */
function isKey(key: string): boolean {
  return /^[A-Za-z0-9+/]{22}==$/.test(key);
}
