import { isIP } from 'node:net';
import { quoteValue } from '../lib/quote-value.ts';
import type { StatusRange, TrustProxy } from './config.ts';
import { type Kind, list } from './kind.ts';

/** A TCP port. With `zero`, 0 is allowed and means that. */
export function port(zero?: string): Kind<number> {
  const least = zero === undefined ? 1 : 0;
  return {
    allowed: `a whole number from ${least} to 65535${zero === undefined ? '' : `; 0 for ${zero}`}`,
    parse(input) {
      // Not Number(): that takes '0x50', '1e3' and ' 80 '. PORT has also been seen to hold a pipe name or a URL.
      if (!/^(?:0|[1-9]\d*)$/.test(input)) throw new Error(`${quoteValue(input)} is not a port number`);
      const value = Number(input);
      if (value < least || value > 65_535) throw new Error(`${quoteValue(input)} is out of range`);
      return value;
    },
    format: String,
  };
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** A host name, in lower case, without scheme, port or path (RFC 1123 section 2.1). */
export const hostName: Kind<string> = {
  allowed: 'a host name without scheme, port or path, such as www.example.com',
  parse(input) {
    if (!HOST_NAME.test(input)) throw new Error(`${quoteValue(input)} is not a host name`);
    return input.toLowerCase();
  },
  format: (value) => value,
};

/** Where a Redis is, with its user and password. */
export const redisUrl: Kind<string> = {
  allowed: 'redis://[[user]:password@]host[:port][/database], or rediss:// for TLS',
  parse(input) {
    const url = URL.canParse(input) ? new URL(input) : undefined;
    if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '') {
      throw new Error('the value is not the URL of a Redis');
    }
    if (!/^\/?$|^\/\d{1,5}$/.test(url.pathname)) throw new Error('the path is not the number of a database');
    return input;
  },
  format: (value) => value,
};

/** What a server can bind: an address (brackets around IPv6 are dropped) or a host name. */
export const bindAddress: Kind<string> = {
  allowed: 'an IP address or host name of this machine, such as 127.0.0.1 or ::1',
  parse(input) {
    const address = /^\[(.*)\]$/.exec(input)?.[1] ?? input;
    if (isIP(address) !== 0) return address;
    // All digits and dots is no name that resolves: the user meant an address.
    if (!HOST_NAME.test(input) || /^[\d.]+$/.test(input)) throw new Error(`${quoteValue(input)} is not an address`);
    return input;
  },
  format: (value) => value,
};

/** A field name (RFC 9110 section 5.1), in lower case. */
export const headerName: Kind<string> = {
  allowed: 'the name of a header, such as CF-Connecting-IP',
  parse(input) {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(input)) throw new Error(`${quoteValue(input)} is not a header name`);
    return input.toLowerCase();
  },
  format: (value) => value,
};

/** Statuses and ranges of them: `200-399,404`. */
export const statusRanges: Kind<readonly StatusRange[]> = list<StatusRange>({
  allowed: 'statuses from 100 to 599 and ranges, such as 200-399',
  parse(input) {
    const [, from, to = from] = /^([1-5]\d\d)(?:\s*-\s*([1-5]\d\d))?$/.exec(input) ?? [];
    if (from === undefined) throw new Error(`${quoteValue(input)} is not a status or a range of them`);
    if (Number(from) > Number(to)) throw new Error(`${quoteValue(input)} runs backwards`);
    return { from: Number(from), to: Number(to) };
  },
  format: ({ from, to }) => (from === to ? String(from) : `${from}-${to}`),
});

/** A path as it stands on the request line, compared byte for byte; a query only where that makes sense. */
export function requestPath(isQueryAllowed: boolean): Kind<string> {
  const query = isQueryAllowed ? '' : ' and without a query';
  return {
    allowed: `a path that starts with /, percent-encoded as in a request${query}, such as /health`,
    parse(input) {
      if (!input.startsWith('/')) throw new Error(`${quoteValue(input)} does not start with /`);
      // RFC 3986 section 3.3; a byte outside it would never be seen on a request line.
      if (!/^[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]+$/.test(input)) {
        throw new Error(`${quoteValue(input)} holds characters that must be percent-encoded`);
      }
      if (!isQueryAllowed && input.includes('?')) throw new Error(`${quoteValue(input)} has a query`);
      return input;
    },
    format: (value) => value,
  };
}

/**
 * The value of Strict-Transport-Security (RFC 6797 section 6.1): directives by semicolon, each at most once, `max-age`
 * among them. It goes out as it is, so nothing that is not a header value gets through.
 */
export const strictTransportSecurity: Kind<string> = {
  allowed: 'a Strict-Transport-Security value with max-age, such as max-age=31536000; includeSubDomains',
  parse(input) {
    const names = new Set<string>();
    for (const directive of input.split(';').map((part) => part.trim())) {
      if (directive === '') continue;
      const [, name, value] =
        /^([!#$%&'*+\-.^_`|~\w]+)(?:\s*=\s*([!#$%&'*+\-.^_`|~\w]+|"[\x20!\x23-\x5b\x5d-\x7e]*"))?$/.exec(directive) ??
        [];
      if (name === undefined) throw new Error(`${quoteValue(directive)} is not a directive`);
      const known = name.toLowerCase();
      if (names.has(known)) throw new Error(`${known} is given twice`);
      if (known === 'max-age' && !/^"?\d+"?$/.test(value ?? '')) throw new Error('max-age is not a number of seconds');
      names.add(known);
    }
    if (!names.has('max-age')) throw new Error(`${quoteValue(input)} has no max-age`);
    return input;
  },
  format: (value) => value,
};

const addresses = list<string>({
  allowed: 'IP addresses and CIDR ranges',
  parse(input) {
    const [, address = '', , length] = /^([^/]+)(\/(\d{1,3}))?$/.exec(input) ?? [];
    const family = isIP(address);
    // isIP takes a zone (fe80::1%eth0), BlockList does not, and whoever reads the list uses a BlockList.
    if (family === 0 || address.includes('%'))
      throw new Error(`${quoteValue(input)} is not an IP address or CIDR range`);
    const most = family === 6 ? 128 : 32;
    if (Number(length ?? most) > most) throw new Error(`${quoteValue(input)} has a prefix longer than ${most} bits`);
    return input;
  },
  format: (value) => value,
});

/** `auto`, `all`, `none`, or addresses and CIDR ranges that a `net.BlockList` takes. */
export const trustProxy: Kind<TrustProxy> = {
  allowed: 'auto, all, none, or IP addresses and CIDR ranges by comma',
  parse(input) {
    const word = input.toLowerCase();
    if (word === 'auto' || word === 'all' || word === 'none') return { kind: word };
    return { kind: 'list', addresses: addresses.parse(input) };
  },
  format: (value) => (value.kind === 'list' ? addresses.format(value.addresses) : value.kind),
};
