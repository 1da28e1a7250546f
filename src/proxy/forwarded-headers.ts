import type { Config } from '../config/config.ts';
import { firstElement, type Proto, requestProto } from './forwarded-proto.ts';
import { isValidHost, portOfHost } from './host.ts';
import { addressOf } from './ip-address.ts';
import type { ProxyRequest } from './request.ts';

/**
 * The client's fields, in lower case, that are consumed here and written anew: a request's head leaves them out.
 * `Forwarded`, `X-Real-IP` and the like are not among them: they pass untouched from a trusted peer and are dropped
 * from anyone else (spoofable-fields.ts).
 */
export const FORWARDED_FIELDS: readonly string[] = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-request-start',
];

/** Whether a field, its name in lower case, is one of `FORWARDED_FIELDS`. */
export function isForwardedField(name: string): boolean {
  switch (name.length) {
    case 15:
      return name === 'x-forwarded-for' || name === 'x-request-start';
    case 16:
      return name === 'x-forwarded-host' || name === 'x-forwarded-port';
    case 17:
      return name === 'x-forwarded-proto';
    default:
      return false;
  }
}

export type ForwardedHeadersConfig = Pick<Config, 'forwardedFor'>;

/**
 * Makes the rule that gives the forwarding fields for the app's request, as head lines (design section 5). From a
 * trusted peer, what is present is kept and what is missing filled in, and the peer is appended to `X-Forwarded-For`
 * or not (`UWSRP_FORWARDED_FOR`); a valid address in the field of `UWSRP_CLIENT_IP_HEADER` takes the place of that
 * list. From anyone else all are set afresh. An empty field counts as missing. The port is the one the client used,
 * never the one that we listen on.
 *
 * `now` gives whole milliseconds since 1970, for `X-Request-Start: t=<ms>`.
 */
export function createForwardedHeaders(
  config: ForwardedHeadersConfig,
  now: () => number,
): (request: ProxyRequest, isTrusted: boolean) => string {
  const isKept = config.forwardedFor === 'keep';
  const freshLines = createFreshLines();
  const startLine = createStartLine(now);
  return (request, isTrusted) => {
    if (!isTrusted) return freshLines(request) + startLine();
    const lines = isSilent(request) ? freshLines(request) : keptLines(request, isKept);
    return lines + (request.requestStart ? `X-Request-Start: ${request.requestStart}\r\n` : startLine());
  };
}

/** Whether the peer says nothing about a client before it. */
function isSilent(request: ProxyRequest): boolean {
  return !(
    request.forwardedFor ||
    request.forwardedProto ||
    request.forwardedHost ||
    request.forwardedPort ||
    request.clientIp
  );
}

/** The lines from the connection and `Host` alone; those of the request before are reused when nothing changed. */
function createFreshLines(): (request: ProxyRequest) => string {
  let peer = '';
  let host = '';
  let isTls = false;
  let lines = '';
  return (request) => {
    if (lines === '' || request.host !== host || request.peer !== peer || request.isTls !== isTls) {
      ({ peer, host, isTls } = request);
      const proto = isTls ? 'https' : 'http';
      lines = headLines(peer, proto, host, portOfHost(host) ?? defaultPort(proto));
    }
    return lines;
  };
}

/** The lines from what a trusted peer said, the gaps filled. The port belongs to the host that the app gets to see. */
function keptLines(request: ProxyRequest, isKept: boolean): string {
  const proto = request.forwardedProto || (request.isTls ? 'https' : 'http');
  const hostPort = request.forwardedHost ? portOfFirst(request.forwardedHost) : portOfHost(request.host);
  const port = request.forwardedPort || (hostPort ?? defaultPort(requestProto(request, true)));
  return headLines(forwardedFor(request, isKept), proto, request.forwardedHost || request.host, port);
}

/** Some routers pass the client's own `X-Forwarded-Host` on, so a port is read from a valid one only. */
function portOfFirst(forwardedHost: string): string | undefined {
  const host = firstElement(forwardedHost);
  const port = portOfHost(host);
  return port !== undefined && isValidHost(host) ? port : undefined;
}

function forwardedFor(request: ProxyRequest, isKept: boolean): string {
  const clientIp = request.clientIp === undefined ? undefined : addressOf(request.clientIp);
  const list = clientIp ?? request.forwardedFor;
  if (!list) return request.peer;
  return isKept ? list : `${list}, ${request.peer}`;
}

function defaultPort(proto: Proto): string {
  return proto === 'https' ? '443' : '80';
}

/** An empty host gives no line: the app would read it as a host called ''. */
function headLines(list: string, proto: string, host: string, port: string): string {
  const hostLine = host === '' ? '' : `X-Forwarded-Host: ${host}\r\n`;
  return `X-Forwarded-For: ${list}\r\nX-Forwarded-Proto: ${proto}\r\n${hostLine}X-Forwarded-Port: ${port}\r\n`;
}

/** `X-Request-Start: t=<ms>`, made once a millisecond. */
function createStartLine(now: () => number): () => string {
  let lastMs = -1;
  let line = '';
  return () => {
    const ms = now();
    if (ms !== lastMs) {
      lastMs = ms;
      line = `X-Request-Start: t=${ms}\r\n`;
    }
    return line;
  };
}
