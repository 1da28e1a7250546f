import type { TrustProxy } from '../config/config.ts';
import { addressOf } from './ip-address.ts';
import type { ProxyRequest } from './request.ts';
import { createTrust } from './trust.ts';

/** Who a request says that it comes from. */
export type ClientSource = Pick<ProxyRequest, 'peer' | 'clientIp' | 'forwardedFor' | 'realIp'>;

/**
 * Makes the rule for the client's address in the log. From a trusted peer: the field of `UWSRP_CLIENT_IP_HEADER`, else
 * the rightmost entry of `X-Forwarded-For` that is not itself a trusted hop (entries left of it are whatever the
 * client wrote), else `X-Real-IP`; where a list holds trusted hops only, its leftmost. From anyone else the peer.
 *
 * Hops are those of the `UWSRP_TRUST_PROXY` list; with `all`, which would make every entry a hop, those of `auto`.
 */
export function createClientIp(rule: TrustProxy): (request: ClientSource, isTrusted: boolean) => string {
  const isHop = createTrust(rule.kind === 'list' ? rule : { kind: 'auto' }, { endsTls: false });
  return (request, isTrusted) => {
    if (!isTrusted) return request.peer;
    return (
      (request.clientIp && addressOf(request.clientIp)) ||
      (request.forwardedFor && nearestClient(request.forwardedFor, isHop)) ||
      (request.realIp && addressOf(request.realIp)) ||
      request.peer
    );
  };
}

/** Walks the list from the right over trusted hops. An entry that is no address hides all that is left of it. */
function nearestClient(list: string, isHop: (address: string) => boolean): string | undefined {
  let nearest: string | undefined;
  let end = list.length;
  while (end > 0) {
    const comma = list.lastIndexOf(',', end - 1);
    const entry = list.slice(comma + 1, end);
    end = comma;
    if (entry.trim() === '') continue;
    const address = addressOf(entry);
    if (address === undefined) break;
    nearest = address;
    if (!isHop(address)) break;
  }
  return nearest;
}
