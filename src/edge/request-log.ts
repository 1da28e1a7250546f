import { turnNow } from '../lib/turn-clock.ts';
import type { AccessLog } from '../log/access-log.ts';
import type { IncomingRequest } from '../proxy/incoming-request.ts';
import type { LocalAnswer } from '../proxy/local-answer.ts';
import type { Pipeline } from '../proxy/pipeline.ts';

/** What is kept of a request for its line in the log: the reader is used again while the request lives. */
export interface LoggedRequest
  extends Pick<
    IncomingRequest,
    'method' | 'path' | 'peer' | 'isTrusted' | 'clientIp' | 'forwardedFor' | 'realIp' | 'requestId'
  > {
  /** In the clock of `RequestLog.now`. */
  readonly startedAt: number;
}

/** How a request was answered. */
export interface AnswerRecord {
  /** What the client got; 499 when it went away first. */
  readonly status: number;
  readonly bodyBytes: number;
  /** When the app's head came, in the clock of `RequestLog.now`; 0 when it did not. */
  readonly firstByteAt: number;
  /** The status was out when the rest failed, so the client's connection was cut. */
  readonly isCut: boolean;
  /** Why it failed, if it did. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** Tells the access log of requests. Costs a comparison where nothing is written. */
export class RequestLog {
  readonly #log: AccessLog | undefined;
  readonly #pipeline: Pipeline;

  constructor(log: AccessLog | undefined, pipeline: Pipeline) {
    this.#log = log;
    this.#pipeline = pipeline;
  }

  /** Milliseconds; always 0 when no request is ever logged. */
  now(): number {
    return this.#log === undefined ? 0 : turnNow();
  }

  onAnswer(request: LoggedRequest, answer: AnswerRecord): void {
    const log = this.#log;
    if (log === undefined || !log.wants(answer.status, answer.isCut)) return;
    const { startedAt } = request;
    const { firstByteAt } = answer;
    log.write({
      method: request.method,
      path: request.path,
      status: answer.status,
      bodyBytes: answer.bodyBytes,
      firstByteMs: firstByteAt === 0 ? undefined : firstByteAt - startedAt,
      totalMs: performance.now() - startedAt,
      requestId: request.requestId,
      clientAddress: this.#pipeline.clientAddress(request),
      failure: answer.failure,
    });
  }

  /** An answer of ours. `failure` is for what the answer itself does not hold. */
  onLocalAnswer(
    request: LoggedRequest,
    answer: LocalAnswer,
    failure: AnswerRecord['failure'] = answer.refusal && { code: answer.refusal.code, message: answer.refusal.reason },
  ): void {
    const bodyBytes = request.method === 'HEAD' ? 0 : answer.body.length;
    this.onAnswer(request, { status: answer.status, bodyBytes, firstByteAt: 0, isCut: false, failure });
  }
}

/** Copies of a reader what the log is to have of its request. */
export function loggedRequest(
  reader: IncomingRequest,
  requestId: string | undefined,
  startedAt: number,
): LoggedRequest {
  const { method, path, peer, isTrusted, clientIp, forwardedFor, realIp } = reader;
  return { method, path, peer, isTrusted, clientIp, forwardedFor, realIp, requestId, startedAt };
}
