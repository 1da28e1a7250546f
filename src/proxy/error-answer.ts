import type { ErrorCode } from '../lib/errors.ts';
import type { ErrorPages } from './error-pages.ts';
import { createErrorResponse } from './error-response.ts';
import type { LocalAnswer } from './local-answer.ts';

/** Gives the answer to a client for an error of the table, with the `X-Request-Id` of its request. */
export type ErrorAnswer = (code: ErrorCode, accept: string | undefined, requestId: string | undefined) => LocalAnswer;

export function createErrorAnswer(pages: ErrorPages): ErrorAnswer {
  const errorResponse = createErrorResponse(pages);
  return (code, accept, requestId) => {
    const { status, reason, contentType, body, retryAfter } = errorResponse(code, accept);
    const fields: [string, string][] = [
      ['Content-Type', contentType],
      ['Cache-Control', 'no-store'],
    ];
    if (retryAfter !== undefined) fields.push(['Retry-After', retryAfter]);
    if (requestId !== undefined) fields.push(['X-Request-Id', requestId]);
    // RFC 6455 section 4.2.2: the answer names the version that is understood.
    if (code === 'UPGRADE_REQUIRED')
      fields.push(['Upgrade', 'websocket'], ['Connection', 'upgrade'], ['Sec-WebSocket-Version', '13']);
    return { status, statusLine: `${status} ${reason}`, fields, body };
  };
}
