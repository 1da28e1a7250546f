import { isForwardedField } from './forwarded-headers.ts';
import { isSpoofableField } from './spoofable-fields.ts';

/**
 * Whether a field, its name in lower case, belongs to one connection and is never handed on (RFC 9110
 * section 7.6.1). `Proxy-Authorization` and its two answers are meant for a proxy that asked for them, which we never
 * do (section 11.7).
 */
export function isHopByHop(name: string): boolean {
  switch (name.length) {
    case 2:
      return name === 'te';
    case 7:
      return name === 'trailer' || name === 'upgrade';
    case 10:
      return name === 'connection' || name === 'keep-alive';
    case 14:
      return name === 'http2-settings';
    case 16:
      return name === 'proxy-connection';
    case 17:
      return name === 'transfer-encoding';
    case 18:
      return name === 'proxy-authenticate';
    case 19:
      return name === 'proxy-authorization';
    case 25:
      return name === 'proxy-authentication-info';
    default:
      return false;
  }
}

/** What a `Connection` field says. */
export interface ConnectionOptions {
  readonly close: boolean;
  readonly keepAlive: boolean;
  readonly upgrade: boolean;
  /** Fields that must not be handed on beside the hop-by-hop ones, in lower case; undefined when there are none. */
  readonly names: readonly string[] | undefined;
}

const NOTHING: ConnectionOptions = { close: false, keepAlive: false, upgrade: false, names: undefined };
const CLOSE: ConnectionOptions = { ...NOTHING, close: true };
const KEEP_ALIVE: ConnectionOptions = { ...NOTHING, keepAlive: true };
const UPGRADE: ConnectionOptions = { ...NOTHING, upgrade: true };

/**
 * Reads a `Connection` field in any case, with blanks and empty elements, several lines joined with `, ` (RFC 9110
 * section 7.6.1). Named fields are dropped, `Cookie` and `Authorization` too: who names them loses them. Fields that
 * the next hop relies on cannot be named away (`isProtected`).
 */
export function parseConnection(value: string | undefined): ConnectionOptions {
  switch (value) {
    case undefined:
    case '':
      return NOTHING;
    case 'keep-alive':
    case 'Keep-Alive':
      return KEEP_ALIVE;
    case 'close':
    case 'Close':
      return CLOSE;
    case 'Upgrade':
    case 'upgrade':
      return UPGRADE;
    default:
      return parseList(value);
  }
}

function parseList(value: string): ConnectionOptions {
  let close = false;
  let keepAlive = false;
  let upgrade = false;
  let names: string[] | undefined;
  for (const element of value.toLowerCase().split(',')) {
    const name = element.trim();
    if (name === 'close') close = true;
    else if (name === 'keep-alive') keepAlive = true;
    else if (name === 'upgrade') upgrade = true;
    else if (name !== '' && !isHopByHop(name) && !isProtected(name)) {
      names ??= [];
      names.push(name);
    }
  }
  return { close, keepAlive, upgrade, names };
}

/**
 * Where the message ends and whom it is for; and who the client is: through a router that passes `Connection` on, a
 * client could otherwise take the router's `X-Forwarded-For` away and be seen as the router (CVE-2022-31813 was that).
 */
function isProtected(name: string): boolean {
  return (
    name === 'host' ||
    name === 'content-length' ||
    name === 'x-request-id' ||
    isForwardedField(name) ||
    isSpoofableField(name)
  );
}
