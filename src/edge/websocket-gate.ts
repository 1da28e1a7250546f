import type { Logger } from 'pino';
import type { ErrorCode } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { requestFraming } from '../proxy/framing.ts';
import type { LocalAnswer } from '../proxy/local-answer.ts';
import type { Pipeline } from '../proxy/pipeline.ts';
import type { UpgradeRefusal } from '../upstream/websocket-client.ts';
import { sendLocalAnswer } from './local-answer.ts';
import { type AnswerRecord, type LoggedRequest, loggedRequest, type RequestLog } from './request-log.ts';
import type { RequestReader } from './request-reader.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';
import { WebSocketRefusal } from './websocket-refusal.ts';
import type { UpgradeRequest } from './websocket-relay.ts';
import type { WebSocketRelayDependencies } from './websocket-relays.ts';

/** The edge, as WebSocket handshakes see it. */
export interface GateHost {
  readonly log: Logger;
  readonly reader: RequestReader;
  readonly pipeline: Pipeline;
  readonly closesConnections: boolean;
  target(): UpstreamTarget;
  /** Nobody may touch the client's connection any more as an idle HTTP one. */
  forgetConnection(): void;
  /** Answers a request in its handler, as the last on its connection. */
  answerLast(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean): void;
  /** An answer begins that a stop must wait for; `onAnswered` ends it. */
  onAnswering(): void;
  onAnswered(): void;
  readonly requestLog: RequestLog;
}

/** Each hop makes these fields for itself (RFC 6455 sections 4.1 and 9.1); the client's say nothing to the app. */
const HANDSHAKE_FIELDS = /^sec-websocket-[^\r\n]*\r\n/gm;

/** A client that went away before the app had answered its handshake. */
const GONE: AnswerRecord = {
  status: 499,
  bodyBytes: 0,
  firstByteAt: 0,
  isCut: false,
  failure: { code: 'CLIENT_GONE', message: 'the client went away' },
};

/** Takes WebSocket handshakes through the same rules as every request, before the app hears of them. */
export class WebSocketGate implements WebSocketRelayDependencies {
  readonly log: Logger;
  readonly #host: GateHost;

  constructor(host: GateHost) {
    this.#host = host;
    this.log = host.log;
  }

  target(): UpstreamTarget {
    return this.#host.target();
  }

  readRequest(res: HttpResponse, req: HttpRequest): UpgradeRequest | undefined {
    const { reader, pipeline, requestLog } = this.#host;
    const startedAt = requestLog.now();
    reader.read(res, req);
    this.#host.forgetConnection();
    const framing = requestFraming(reader.contentLength, reader.transferEncoding);
    const requestId = pipeline.requestId(reader);
    const request = loggedRequest(reader, requestId, startedAt);
    const answer = pipeline.answer(reader, framing, requestId);
    if (answer !== undefined) {
      requestLog.onLocalAnswer(request, answer);
      this.#host.answerLast(res, answer, false);
      return undefined;
    }
    const { accept } = reader;
    const hsts = pipeline.hsts(reader);
    const refuse = (code: ErrorCode, why: string) => {
      const local = pipeline.errorAnswer(code, accept, requestId);
      requestLog.onLocalAnswer(request, local, { code, message: why });
      // What follows a handshake on its connection nobody knows.
      sendLocalAnswer(res, local, false, 'ours');
    };
    return {
      head: pipeline.requestHead(reader, framing, requestId).replace(HANDSHAKE_FIELDS, ''),
      protocols: reader.webSocketProtocol,
      refuse,
      relayResponse: (refusal) => this.#relay(res, refusal, request, hsts, refuse),
      onAccepted: () => {
        const firstByteAt = requestLog.now();
        requestLog.onAnswer(request, { status: 101, bodyBytes: 0, firstByteAt, isCut: false, failure: undefined });
      },
      onGone: () => requestLog.onAnswer(request, GONE),
    };
  }

  refuseRequest(res: HttpResponse, req: HttpRequest, code: ErrorCode): void {
    const { reader, pipeline, requestLog } = this.#host;
    const startedAt = requestLog.now();
    reader.read(res, req);
    this.#host.forgetConnection();
    const requestId = pipeline.requestId(reader);
    const answer = pipeline.errorAnswer(code, reader.accept, requestId);
    const failure = { code, message: 'a WebSocket handshake that is not valid' };
    requestLog.onLocalAnswer(loggedRequest(reader, requestId, startedAt), answer, failure);
    this.#host.answerLast(res, answer, reader.method === 'HEAD');
  }

  #relay(
    res: HttpResponse,
    refusal: UpgradeRefusal,
    request: LoggedRequest,
    hsts: string | undefined,
    refuse: (code: ErrorCode, why: string) => void,
  ): void {
    const firstByteAt = this.#host.requestLog.now();
    this.#host.onAnswering();
    const answer = new WebSocketRefusal(res, refusal, {
      closing: () => (this.#host.closesConnections ? 'ours' : 'no'),
      hsts: (head) => (head.hasStrictTransportSecurity ? undefined : hsts),
      requestId: (head) => (head.hasRequestId ? undefined : request.requestId),
      onEnd: (status, bodyBytes, error) => {
        const failure = status === 499 ? GONE.failure : error;
        this.#host.requestLog.onAnswer(request, {
          status,
          bodyBytes,
          firstByteAt,
          isCut: error !== undefined,
          failure,
        });
        this.#host.onAnswered();
      },
      onInvalid: (error) => {
        refuse(error.code, error.message);
        this.#host.onAnswered();
      },
    });
    answer.start();
  }
}
