import type { ProxyRequest } from '../../src/proxy/request.ts';

/** A plain GET of `/` for `a.example` from 10.0.0.9 that forwards nothing; a test says what differs. */
export function proxyRequest(differences: Partial<ProxyRequest> = {}): ProxyRequest {
  return {
    method: 'GET',
    path: '/',
    query: undefined,
    host: 'a.example',
    peer: '10.0.0.9',
    isTls: false,
    forwardedFor: undefined,
    forwardedProto: undefined,
    forwardedHost: undefined,
    forwardedPort: undefined,
    realIp: undefined,
    requestStart: undefined,
    clientIp: undefined,
    ...differences,
  };
}
