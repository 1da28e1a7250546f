import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { AccessLog } from '../log/access-log.ts';
import type { NativeRoutes } from '../native/native-routes.ts';
import type { ErrorAnswer } from '../proxy/error-answer.ts';
import { requestFraming } from '../proxy/framing.ts';
import { parseConnection } from '../proxy/hop-by-hop.ts';
import type { LocalAnswer } from '../proxy/local-answer.ts';
import type { Pipeline } from '../proxy/pipeline.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';
import { type ExchangeHost, type ExchangeOutcome, type ExchangeRequest, HttpExchange } from './http-exchange.ts';
import { KeepAlive, type KeepAlivePolicy, keepAlivePolicy } from './keep-alive.ts';
import { answerLast } from './last-answer.ts';
import { sendLocalAnswer } from './local-answer.ts';
import { NativeHandlers } from './native-handlers.ts';
import { bindFailure, type PublicPort } from './public-port.ts';
import { limitReceiveBuffers } from './receive-buffer.ts';
import { RequestBody } from './request-body.ts';
import { loggedRequest, RequestLog } from './request-log.ts';
import { RequestReader } from './request-reader.ts';
import { UploadWatch } from './upload-watch.ts';
import {
  closeListenSocket,
  type HttpRequest,
  type HttpResponse,
  isNewerBuild,
  type ListenSocket,
  listen,
  localPort,
  type TemplatedApp,
  uWS,
} from './uws.ts';
import { type GateHost, WebSocketGate } from './websocket-gate.ts';
import { WebSocketRelays, webSocketOptions } from './websocket-relays.ts';
import { judgeUpgrade } from './websocket-request.ts';

export interface EdgeOptions {
  readonly config: Config;
  readonly pipeline: Pipeline;
  readonly pool: UpstreamPool;
  readonly log: Logger;
  /** What the user's module registered, if there is one. */
  readonly native?: NativeRoutes | undefined;
}

/** The public side: listens on `$PORT` and takes every request through the pipeline, to the app and back. */
export class Edge implements ExchangeHost, GateHost {
  readonly log: Logger;
  readonly pipeline: Pipeline;
  readonly pool: UpstreamPool;
  readonly #app: TemplatedApp;
  readonly reader: RequestReader;
  readonly requestLog: RequestLog;
  readonly #gate: WebSocketGate;
  readonly #webSockets: WebSocketRelays;
  readonly #native: NativeHandlers;
  readonly #keepAlivePolicy: KeepAlivePolicy;
  readonly #keepAlive: KeepAlive | undefined;
  #isDraining = false;
  #isClosed = false;
  readonly #uploads: UploadWatch;
  #listenSocket: ListenSocket | undefined;
  #inFlight = 0;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(options: EdgeOptions) {
    this.log = options.log;
    this.pipeline = options.pipeline;
    this.pool = options.pool;
    this.requestLog = new RequestLog(AccessLog.create(options.config.accessLog, options.log), options.pipeline);
    this.#uploads = new UploadWatch(options.config);
    this.#app = uWS.App();
    const { config } = options;
    this.#keepAlivePolicy = keepAlivePolicy(config, KeepAlive.isPossible(this.#app));
    if (this.#keepAlivePolicy.keepsIdle) {
      const limits = { timeoutMs: config.keepAliveTimeoutMs, maxConnections: config.keepAliveMax };
      this.#keepAlive = new KeepAlive(this.#app, limits);
    }
    this.reader = new RequestReader(options.pipeline, config.clientIpHeader, this.#keepAlive?.peers);
    this.#gate = new WebSocketGate(this);
    this.#webSockets = new WebSocketRelays(this.#gate, webSocketOptions(config));
    this.#native = new NativeHandlers({ host: this, relays: this.#webSockets, keepAlive: this.#keepAlive, config });
    const patterns = options.native && this.#native.register(this.#app, options.native);
    this.#webSockets.register(this.#app, (res, req) => this.#onRequest(res, req), patterns);
  }

  /** Requests that have no whole answer yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Opens the public port, and resolves with its number. Exclusively: uWebSockets.js would otherwise share a taken
   * port with its owner and get a part of the connections; which is what threads that share it want. Rejects with
   * BIND_FAILED.
   */
  async listen({ host, port }: PublicPort, isShared = false): Promise<number> {
    // Without a host uWebSockets.js takes the IPv6 wildcard, which serves IPv4 too; where IPv6 is off, that fails.
    for (const address of host === undefined ? ['::', '0.0.0.0'] : [host]) {
      const socket = await listen(this.#app, { host: address, port }, isShared);
      if (socket === undefined) continue;
      this.#listenSocket = socket;
      const bound = localPort(socket);
      if (isNewerBuild(this.#app) && !(await limitReceiveBuffers(bound))) {
        this.log.debug('receive buffers are left as they are: there is no Perl, or no /proc');
      }
      return bound;
    }
    throw await bindFailure({ host, port });
  }

  /** From now on every answer closes its connection, so that clients come back to another instance. */
  startDrain(): void {
    this.#isDraining = true;
    this.#keepAlive?.stop();
  }

  get closesConnections(): boolean {
    const { closesAlways, closesWhenFull } = this.#keepAlivePolicy;
    return this.#isDraining || closesAlways || (closesWhenFull && this.#keepAlive!.isFull);
  }

  /** Takes no new connections; open ones live on. */
  stopListening(): void {
    if (this.#listenSocket !== undefined) closeListenSocket(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /** Closes every WebSocket with 1001 (RFC 6455 section 7.4.1), on both sides; new ones are refused. */
  closeWebSockets(): void {
    void this.#webSockets.closeAll();
    this.#native.closeAll();
  }

  /** Resolves as soon as no request is in flight and, once they are being closed, no WebSocket is left. */
  async whenIdle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    if (this.#isDraining) await Promise.all([this.#webSockets.whenEmpty(), this.#native.whenEmpty()]);
  }

  /**
   * Closes every connection if nothing is in flight on any. The app is about to be told to end: a request that came later
   * on a connection that was kept would find nobody, and get 502, where a client whose connection was closed without a
   * byte asks another instance.
   */
  closeIdle(): void {
    if (this.#inFlight === 0 && this.#webSockets.isEmpty && this.#native.isEmpty) this.close();
  }

  /** Cuts every connection. */
  close(): void {
    this.stopListening();
    this.#webSockets.terminateAll();
    if (!this.#isClosed) this.#app.close();
    this.#isClosed = true;
  }

  target(): UpstreamTarget {
    return this.pool.target;
  }

  forgetConnection(): void {
    const kept = this.#keepAlive?.onRequest(this.reader);
    if (kept !== undefined) this.#keepAlive!.forget(kept);
  }

  onAnswering(): void {
    this.#inFlight += 1;
  }

  onAnswered(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  get errorAnswer(): ErrorAnswer {
    return this.pipeline.errorAnswer;
  }

  now(): number {
    return this.requestLog.now();
  }

  answerLast(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean): void {
    answerLast(res, answer, isHeadRequest, this.#uploads);
  }

  onExchangeEnd(outcome: ExchangeOutcome): void {
    const { request } = outcome;
    this.requestLog.onAnswer(request, outcome);
    if (request.kept !== undefined) {
      if (outcome.leavesIdle) this.#keepAlive!.onIdle(request.kept);
      else this.#keepAlive!.forget(request.kept);
    }
    this.onAnswered();
  }

  #onRequest(res: HttpResponse, req: HttpRequest): void {
    const { pipeline, reader } = this;
    const startedAt = this.requestLog.now();
    reader.read(res, req);
    if (reader.upgrade !== undefined) {
      // What uWebSockets.js does not take for a handshake may be a bad one all the same.
      const verdict = judgeUpgrade(req);
      if (verdict !== 'none' && verdict !== 'valid') {
        this.#gate.refuseRequest(res, req, verdict);
        return;
      }
    }
    const framing = requestFraming(reader.contentLength, reader.transferEncoding);
    const isHeadRequest = reader.method === 'HEAD';
    const wantsClose = parseConnection(reader.connection).close;

    const kept = this.#keepAlive?.onRequest(reader);
    const hasBody = framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0);

    const requestId = pipeline.requestId(reader);
    const answer = pipeline.answer(reader, framing, requestId);
    if (answer !== undefined) {
      const { refusal } = answer;
      this.requestLog.onLocalAnswer(loggedRequest(reader, requestId, startedAt), answer);
      if (refusal !== undefined || reader.isLast || wantsClose || this.closesConnections) {
        this.answerLast(res, answer, isHeadRequest);
        if (kept !== undefined) this.#keepAlive!.forget(kept);
        return;
      }
      sendLocalAnswer(res, answer, isHeadRequest, 'no');
      if (kept !== undefined) {
        if (hasBody) this.#keepAlive!.forget(kept);
        else this.#keepAlive!.onIdle(kept);
      }
      return;
    }

    const request: ExchangeRequest = {
      method: reader.method,
      path: reader.path,
      peer: reader.peer,
      isTrusted: reader.isTrusted,
      clientIp: reader.clientIp,
      forwardedFor: reader.forwardedFor,
      realIp: reader.realIp,
      startedAt,
      accept: reader.accept,
      isLast: reader.isLast,
      wantsClose,
      requestId,
      hsts: pipeline.hsts(reader),
      head: `${pipeline.requestHead(reader, framing, requestId)}\r\n`,
      kept,
    };
    const body = hasBody ? new RequestBody(res, framing.kind === 'chunked', this.#uploads) : undefined;
    this.onAnswering();
    new HttpExchange(this, res, request, body).start();
  }
}
