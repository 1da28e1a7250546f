import { requestProto } from './forwarded-proto.ts';
import type { ProxyRequest } from './request.ts';

/**
 * Makes the rule for `Strict-Transport-Security` (`UWSRP_HSTS`): the configured value for answers to https requests,
 * never over http (RFC 6797 section 7.2). Where the app sent the field itself, the app's stays and this is not added.
 */
export function createHsts(
  value: string | undefined,
): (request: ProxyRequest, isTrusted: boolean) => string | undefined {
  if (value === undefined) return () => undefined;
  return (request, isTrusted) => (requestProto(request, isTrusted) === 'https' ? value : undefined);
}
