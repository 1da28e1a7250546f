import { requestProto } from './forwarded-proto.ts';
import type { ProxyRequest } from './request.ts';

/**
 * Makes the rule for `Strict-Transport-Security` (`UWSRP_HSTS`): the configured value on answers to https requests,
 * never over http (RFC 6797 section 7.2), and not when the app sent the field itself.
 */
export function createHsts(
  value: string | undefined,
): (request: ProxyRequest, isTrusted: boolean, isSetByApp: boolean) => string | undefined {
  if (value === undefined) return () => undefined;
  return (request, isTrusted, isSetByApp) =>
    !isSetByApp && requestProto(request, isTrusted) === 'https' ? value : undefined;
}
