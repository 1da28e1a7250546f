import type { Logger } from 'pino';
import { type ErrorCode, UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { requestFraming } from '../proxy/framing.ts';
import { errorAnswer, type LocalAnswer, type Pipeline } from '../proxy/pipeline.ts';
import type { UpgradeRefusal } from '../upstream/websocket-client.ts';
import { sendLocalAnswer } from './local-answer.ts';
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
  forgetConnection(res: HttpResponse, peer: string): void;
  /** Answers a request in its handler, as the last on its connection. */
  answerLast(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean): void;
  /** An answer begins that a stop must wait for; `onAnswered` ends it. */
  onAnswering(): void;
  onAnswered(): void;
  onFailure(method: string, path: string, status: number, code: ErrorCode, reason: string): void;
}

/** Each hop makes these fields for itself (RFC 6455 sections 4.1 and 9.1); the client's say nothing to the app. */
const HANDSHAKE_FIELDS = /^sec-websocket-[^\r\n]*\r\n/gm;

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
    const { reader, pipeline } = this.#host;
    reader.read(res, req);
    this.#host.forgetConnection(res, reader.peer);
    const framing = requestFraming(reader.contentLength, reader.transferEncoding);
    const requestId = pipeline.requestId(reader);
    const answer = pipeline.answer(reader, framing, requestId);
    if (answer !== undefined) {
      this.#answer(res, answer);
      return undefined;
    }
    const { method, path, accept } = reader;
    const hsts = pipeline.hsts(reader);
    const refuse = (code: ErrorCode, why: string) => {
      const local = errorAnswer(code, accept, requestId);
      this.#host.onFailure(method, path, local.status, code, why);
      // What follows a handshake on its connection nobody knows.
      sendLocalAnswer(res, local, false, 'ours');
    };
    return {
      head: pipeline.requestHead(reader, framing, requestId).replace(HANDSHAKE_FIELDS, ''),
      protocols: reader.webSocketProtocol,
      refuse,
      relayResponse: (refusal) => this.#relay(res, refusal, method, path, hsts, requestId, refuse),
    };
  }

  refuseRequest(res: HttpResponse, req: HttpRequest, code: ErrorCode): void {
    const { reader } = this.#host;
    reader.read(res, req);
    this.#host.forgetConnection(res, reader.peer);
    const answer = errorAnswer(code, reader.accept, this.#host.pipeline.requestId(reader));
    this.#host.onFailure(reader.method, reader.path, answer.status, code, 'a WebSocket handshake that is not valid');
    this.#host.answerLast(res, answer, reader.method === 'HEAD');
  }

  #answer(res: HttpResponse, answer: LocalAnswer): void {
    const { reader } = this.#host;
    const { refusal } = answer;
    if (refusal !== undefined) {
      this.#host.onFailure(reader.method, reader.path, answer.status, refusal.code, refusal.reason);
    }
    this.#host.answerLast(res, answer, false);
  }

  #relay(
    res: HttpResponse,
    refusal: UpgradeRefusal,
    method: string,
    path: string,
    hsts: string | undefined,
    requestId: string | undefined,
    refuse: (code: ErrorCode, why: string) => void,
  ): void {
    this.#host.onAnswering();
    const answer = new WebSocketRefusal(res, refusal, {
      closing: () => (this.#host.closesConnections ? 'ours' : 'no'),
      hsts: (head) => (head.hasStrictTransportSecurity ? undefined : hsts),
      requestId: (head) => (head.hasRequestId ? undefined : requestId),
      onEnd: (status, error) => {
        if (error instanceof UwsrpError) this.#host.onFailure(method, path, status, error.code, error.message);
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
