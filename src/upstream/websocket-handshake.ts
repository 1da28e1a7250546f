import { randomBytes } from '../lib/random-bytes.ts';

/** The value of RFC 6455 section 1.3 that a server's answer to the key is made with. */
const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const CRLF = '\r\n';

/** Fields of the app's 101 that belong to its hop, or that uWebSockets.js writes itself for the client's. */
const HOP_FIELDS = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-connection',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What the app agreed to with its 101. */
export interface UpgradeResponse {
  /** The subprotocol that it chose among those offered. */
  readonly protocol: string | undefined;
  /** Its end-to-end fields in order, latin-1: one char is one byte. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** A fresh `Sec-WebSocket-Key`. */
export function createKey(): string {
  return randomBytes(16).toString('base64');
}

export function acceptFor(key: string): string {
  // Loaded by the first WebSocket, so that others need not wait for it at boot, nor have it in memory.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha1')
    .update(key + ACCEPT_GUID)
    .digest('base64');
}

/**
 * The head of the request that asks the app to upgrade (RFC 6455 section 4.1). `head` is the request line and the
 * end-to-end fields, each line with its CRLF; no extension is offered, so the app must use none.
 */
export function upgradeRequest(head: string, key: string, protocols: string | undefined): string {
  const offer = protocols === undefined ? '' : `Sec-WebSocket-Protocol: ${protocols}${CRLF}`;
  return (
    `${head}Connection: Upgrade${CRLF}Upgrade: websocket${CRLF}Sec-WebSocket-Version: 13${CRLF}` +
    `Sec-WebSocket-Key: ${key}${CRLF}${offer}${CRLF}`
  );
}

/** The status of a response by its first line; undefined when that is no status line. */
export function tryStatus(line: string): number | undefined {
  const match = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(line);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Checks the app's 101 (RFC 6455 section 4.1, the client's checks) and gives what it holds for the client, or a text
 * that says what is wrong with it. `head` is latin-1, from the status line to the last field, without the blank line.
 */
export function readUpgradeResponse(
  head: string,
  key: string,
  protocols: string | undefined,
): UpgradeResponse | string {
  const fields: (readonly [string, string])[] = [];
  const named = new Map<string, string>();
  for (const line of head.split(CRLF).slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '');
    if (colon < 1 || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return 'a line of its 101 is no header field';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    if (/[\0-\x08\x0a-\x1f\x7f]/.test(value)) return 'a field of its 101 holds a control character';
    const lower = name.toLowerCase();
    const before = named.get(lower);
    named.set(lower, before === undefined ? value : `${before}, ${value}`);
    fields.push([name, value]);
  }

  if (named.get('upgrade')?.toLowerCase() !== 'websocket') return 'its 101 does not upgrade to websocket';
  const connection = elements(named.get('connection'));
  if (!connection.includes('upgrade')) return 'its 101 has no "Connection: upgrade"';
  if (named.get('sec-websocket-accept') !== acceptFor(key)) return 'its Sec-WebSocket-Accept does not fit the key';
  if (named.get('sec-websocket-extensions')) return 'it uses an extension that was not offered';
  const protocol = named.get('sec-websocket-protocol');
  if (protocol !== undefined && !offered(protocols).includes(protocol)) {
    return 'it chose a subprotocol that was not offered';
  }
  const isKept = (name: string) => !HOP_FIELDS.has(name) && !connection.includes(name);
  return { protocol, fields: fields.filter(([name]) => isKept(name.toLowerCase())) };
}

function elements(list: string | undefined): string[] {
  return list === undefined ? [] : list.split(',').map((element) => element.trim().toLowerCase());
}

/** Subprotocols are compared as they are: case counts. */
function offered(protocols: string | undefined): string[] {
  return protocols === undefined ? [] : protocols.split(',').map((protocol) => protocol.trim());
}
