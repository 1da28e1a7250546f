import type { ProxyRequest } from './request.ts';

export type Proto = 'http' | 'https';

/**
 * The scheme that a trusted peer says the client used: the first element of `X-Forwarded-Proto` (the hop next to the
 * browser) in any case, empty elements skipped (RFC 9110 section 5.6.1.2); `wss` is https, `ws` is http. Undefined
 * when the peer is not trusted, the field is absent, or it names something else.
 */
export function believedProto(request: ProxyRequest, isTrusted: boolean): Proto | undefined {
  const value = request.forwardedProto;
  if (!isTrusted || value === undefined) return undefined;
  if (value === 'https' || value === 'http') return value;
  return protoOf(firstElement(value).toLowerCase());
}

/** The scheme that the client used, as far as can be known: what is believed, else that of its connection to us. */
export function requestProto(request: ProxyRequest, isTrusted: boolean): Proto {
  return believedProto(request, isTrusted) ?? (request.isTls ? 'https' : 'http');
}

/** First element of a comma list that is not empty, trimmed; '' when there is none. */
export function firstElement(value: string): string {
  let from = 0;
  while (from < value.length) {
    const comma = value.indexOf(',', from);
    const end = comma === -1 ? value.length : comma;
    const element = value.slice(from, end).trim();
    if (element !== '') return element;
    from = end + 1;
  }
  return '';
}

function protoOf(name: string): Proto | undefined {
  switch (name) {
    case 'https':
    case 'wss':
      return 'https';
    case 'http':
    case 'ws':
      return 'http';
    default:
      return undefined;
  }
}
