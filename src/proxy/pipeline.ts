import type { Config } from '../config/config.ts';
import { turnDate } from '../lib/turn-clock.ts';
import { type ClientSource, createClientIp } from './client-ip.ts';
import { createErrorAnswer, type ErrorAnswer } from './error-answer.ts';
import type { ErrorPages } from './error-pages.ts';
import { createForwardedHeaders } from './forwarded-headers.ts';
import { type RequestFraming, requestFraming } from './framing.ts';
import { createHsts } from './hsts.ts';
import type { IncomingRequest } from './incoming-request.ts';
import type { LocalAnswer } from './local-answer.ts';
import { createRedirect } from './redirect.ts';
import { checkHeadSize, checkLength, checkRequest } from './request-fence.ts';
import { createRequestFields } from './request-fields.ts';
import { formatRequestHead } from './request-head.ts';
import { createRequestId } from './request-id.ts';
import { createTrust } from './trust.ts';

/** What the pipeline must know of the app and the stop. */
export interface PipelineState {
  /** The command runs and was reached at the last try. Asked for the health answer only. */
  isAppUp(): boolean;
  isDraining(): boolean;
}

/** The rules in the order in which they see a request. */
export interface Pipeline {
  isTrusted(peer: string): boolean;
  /** The client's address for the log. */
  clientAddress(request: ClientSource & { readonly isTrusted: boolean }): string;
  /** Whether a field of this (lower-case) name goes on to the app as it is. */
  isForwardedAsItIs(name: string, isTrusted: boolean): boolean;
  /** The value of `X-Request-Id` for the app, the client and the log; undefined when there is to be none. */
  requestId(request: IncomingRequest): string | undefined;
  /** The first answer that a rule gives instead of the app, or undefined. */
  answer(request: IncomingRequest, framing: RequestFraming, requestId: string | undefined): LocalAnswer | undefined;
  /** Head of the request to the app, without the blank line. */
  requestHead(request: IncomingRequest, framing: RequestFraming, requestId: string | undefined): string;
  readonly errorAnswer: ErrorAnswer;
  /** Whether `Strict-Transport-Security` belongs on this answer, and its value. */
  hsts(request: IncomingRequest): string | undefined;
}

export { requestFraming };

export function createPipeline(config: Config, state: PipelineState, pages: ErrorPages): Pipeline {
  const errorAnswer = createErrorAnswer(pages);
  const redirect = createRedirect(config);
  const forwardedLines = createForwardedHeaders(config, turnDate);
  const hsts = createHsts(config.hsts);
  const clientIp = createClientIp(config.trustProxy);
  const { healthPath, maxHeaderBytes } = config;
  const maxBodyBytes = config.maxBodyBytes === 0 ? Number.POSITIVE_INFINITY : config.maxBodyBytes;
  const health = [healthAnswer(200, '200 OK', 'ok\n'), healthAnswer(503, '503 Service Unavailable', 'unavailable\n')];

  return {
    isTrusted: createTrust(config.trustProxy, { endsTls: false }),
    clientAddress: (request) => clientIp(request, request.isTrusted),
    isForwardedAsItIs: createRequestFields(config),

    answer(request, framing, requestId) {
      const isHealthRequest = request.path === healthPath && (request.method === 'GET' || request.method === 'HEAD');
      // The platform's probe comes with any host and scheme; it asks about us, so no rule may send it elsewhere. What
      // follows it must be a request for every reader, though.
      if (isHealthRequest && framing.kind !== 'invalid') {
        return health[state.isAppUp() && !state.isDraining() ? 0 : 1];
      }
      const refusal =
        checkHeadSize(request, maxHeaderBytes) ?? checkRequest(request, framing) ?? checkLength(framing, maxBodyBytes);
      if (refusal !== undefined) return { ...errorAnswer(refusal.code, request.accept, requestId), refusal };
      const target = redirect(request, request.isTrusted);
      if (target !== undefined) return redirectAnswer(target.status, target.location, requestId);
      return undefined;
    },

    errorAnswer,
    requestId: createRequestId(config),

    requestHead(request, framing, requestId) {
      const forwarded = forwardedLines(request, request.isTrusted);
      const ours = requestId === undefined ? forwarded : `${forwarded}X-Request-Id: ${requestId}\r\n`;
      return formatRequestHead(request, framing, ours);
    },

    hsts: (request) => hsts(request, request.isTrusted),
  };
}

const NOTHING: Buffer = Buffer.alloc(0);

function redirectAnswer(status: 301 | 308, location: string, requestId: string | undefined): LocalAnswer {
  const statusLine = status === 301 ? '301 Moved Permanently' : '308 Permanent Redirect';
  const fields: [string, string][] = [['Location', location]];
  if (requestId !== undefined) fields.push(['X-Request-Id', requestId]);
  return { status, statusLine, fields, body: NOTHING };
}

function healthAnswer(status: number, statusLine: string, body: string): LocalAnswer {
  const fields = [
    ['Content-Type', 'text/plain; charset=utf-8'],
    ['Cache-Control', 'no-store'],
  ] as const;
  return { status, statusLine, fields, body: Buffer.from(body) };
}
