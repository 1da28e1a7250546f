import type { Config } from '../config/config.ts';
import { believedProto, type Proto, requestProto } from './forwarded-proto.ts';
import { hostWithoutPort, portOfHost } from './host.ts';
import type { ProxyRequest } from './request.ts';

const SLASH = 47;

export interface Redirect {
  readonly status: 301 | 308;
  /** Absolute URL. Its chars are bytes, like those of the request: write it as latin-1. */
  readonly location: string;
}

export type RedirectConfig = Pick<Config, 'forceSsl' | 'forceSslExempt' | 'canonicalHost' | 'healthPath'>;

/**
 * Makes the rule for force SSL and the canonical host, which answer by one redirect between them (design section 5).
 * `on` redirects when a trusted peer says `http`; `strict` also when nobody says anything and our own connection is
 * plain. The path and the query are kept byte for byte; exempt paths and the health path are never redirected.
 *
 * The host must have been validated before (host.ts). `X-Forwarded-Host` has no say: several platforms pass the
 * client's on. Names are compared without ports, so that a router that drops or adds one makes no loop.
 */
export function createRedirect(
  config: RedirectConfig,
): (request: ProxyRequest, isTrusted: boolean) => Redirect | undefined {
  const { forceSsl, canonicalHost } = config;
  if (forceSsl === 'off' && canonicalHost === undefined) return () => undefined;
  const exempt = new Set(config.forceSslExempt);
  if (config.healthPath !== undefined) exempt.add(config.healthPath);
  const isCanonical = createHostTest(canonicalHost);

  return (request, isTrusted) => {
    const toHttps = mustBecomeHttps(forceSsl, request, isTrusted);
    if (!toHttps && isCanonical(request.host)) return undefined;
    if (exempt.has(request.path)) return undefined;
    const proto = toHttps ? 'https' : requestProto(request, isTrusted);
    return {
      status: request.method === 'GET' || request.method === 'HEAD' ? 301 : 308,
      location: `${proto}://${targetHost(request.host, canonicalHost, proto)}${target(request)}`,
    };
  };
}

function mustBecomeHttps(forceSsl: Config['forceSsl'], request: ProxyRequest, isTrusted: boolean): boolean {
  if (forceSsl === 'on') return believedProto(request, isTrusted) === 'http';
  return forceSsl === 'strict' && requestProto(request, isTrusted) === 'http';
}

/** The test whether a host is the wanted one, in any case and with any port. Without a wanted one all are. */
function createHostTest(canonicalHost: string | undefined): (host: string) => boolean {
  if (canonicalHost === undefined) return () => true;
  const wanted = hostWithoutPort(canonicalHost).toLowerCase();
  return (host) => host === wanted || hostWithoutPort(host).toLowerCase() === wanted;
}

/**
 * The port in `Host` is where the client found us. It stays only while that still holds: another name over plain
 * http. For https it would be the port of the hop that spoke http (`https://a.example:80`).
 */
function targetHost(host: string, canonicalHost: string | undefined, proto: Proto): string {
  const name = canonicalHost ?? hostWithoutPort(host);
  if (proto === 'https' || canonicalHost === undefined || portOfHost(canonicalHost) !== undefined) return name;
  const port = portOfHost(host);
  return port === undefined || port === '80' ? name : `${name}:${port}`;
}

/**
 * What follows the host. A path begins with a slash, so it can never become part of the host; the one target that
 * does not, `*`, stands for the whole server, whose URL has no path (RFC 9112 section 3.2.4).
 */
function target(request: ProxyRequest): string {
  const path = request.path.charCodeAt(0) === SLASH ? request.path : '';
  return request.query === undefined ? path : `${path}?${request.query}`;
}
