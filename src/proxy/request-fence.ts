import type { ErrorCode } from '../lib/errors.ts';
import type { RequestFraming } from './framing.ts';
import { isValidHost } from './host.ts';
import type { IncomingRequest } from './incoming-request.ts';

/** Why a request does not reach the app: the error for the client, and the reason for the log. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly reason: string;
}

const COMMON_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const SLASH = 0x2f;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What a path or a query may hold (RFC 9112 section 3.2.1), bytes above 0x7F tolerated; a fragment is never sent. */
const TARGET = /^[\x21\x22\x24-\x7e\x80-\xff]*$/;

/**
 * What uWebSockets.js lets pass though two readers could understand it in two ways, and what no app should have to
 * see. Nothing of a refused request reaches the app.
 */
export function checkRequest(request: IncomingRequest, framing: RequestFraming): Refusal | undefined {
  if (request.method !== 'GET' && !COMMON_METHODS.has(request.method)) {
    if (request.method === 'CONNECT') return badRequest('CONNECT is for proxies of another kind');
    if (!METHOD.test(request.method)) return badRequest('the method is not a token');
  }
  if (request.isUnreadable)
    return badRequest('a header holds a control byte, or bytes that cannot be handed on exactly');
  const { path, query } = request;
  const isPath = path.charCodeAt(0) === SLASH || (path === '*' && request.method === 'OPTIONS');
  if (!isPath || !TARGET.test(path) || (query !== undefined && !TARGET.test(query))) {
    return badRequest('the request target is not a path');
  }
  if (request.hostCount !== 1) return badRequest(`${request.hostCount} Host headers`);
  if (!isValidHost(request.host)) return badRequest('the Host header is not a host');
  if (framing.kind === 'invalid') return badRequest(framing.reason);
  if (request.expect !== undefined && request.expect.toLowerCase() !== '100-continue') {
    return { code: 'EXPECTATION_FAILED', reason: 'an Expect other than 100-continue' };
  }
  return undefined;
}

/** A body that says beforehand that it is too large. One of unknown length is counted as it comes. */
export function checkLength(framing: RequestFraming, maxBodyBytes: number): Refusal | undefined {
  return framing.kind === 'length' && framing.length > maxBodyBytes ? TOO_LARGE : undefined;
}

/**
 * uWebSockets.js holds a head against its limit by itself, but the older build only one that comes in several reads.
 */
export function checkHeadSize(request: IncomingRequest, maxHeaderBytes: number): Refusal | undefined {
  return request.headBytes > maxHeaderBytes ? HEAD_TOO_LARGE : undefined;
}

const HEAD_TOO_LARGE: Refusal = { code: 'HEADERS_TOO_LARGE', reason: 'the head is more than UWSRP_MAX_HEADER_SIZE' };
const TOO_LARGE: Refusal = { code: 'BODY_TOO_LARGE', reason: 'Content-Length is more than UWSRP_MAX_BODY_SIZE' };

function badRequest(reason: string): Refusal {
  return { code: 'BAD_REQUEST', reason };
}
