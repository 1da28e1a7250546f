import { UwsrpError } from '../lib/errors.ts';
import type { ErrorAnswer } from '../proxy/error-answer.ts';
import type { UpstreamExchange } from '../upstream/exchange.ts';
import type { ResponseHead } from '../upstream/response-head.ts';
import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';
import type { KeptConnection } from './keep-alive.ts';
import { sendLastAnswer } from './last-answer.ts';
import { sendLocalAnswer } from './local-answer.ts';
import type { RequestBody, RequestBodyOwner } from './request-body.ts';
import type { AnswerRecord, LoggedRequest } from './request-log.ts';
import { type Closing, ResponseRelay } from './response-relay.ts';
import type { HttpResponse } from './uws.ts';

/** What an exchange keeps of its request: the reader is used again while the exchange lives. */
export interface ExchangeRequest extends LoggedRequest {
  readonly accept: string | undefined;
  /** uWebSockets.js closes the connection after the answer by itself, since the client said `Connection: close`. */
  readonly isLast: boolean;
  /** The client said `close` in another way, which is ours to obey. */
  readonly wantsClose: boolean;
  /** Value for `Strict-Transport-Security`, unless the app sends its own. */
  readonly hsts: string | undefined;
  /** Head for the app, with the blank line. */
  readonly head: string;
  /** The client's connection, where idle ones are kept. */
  readonly kept: KeptConnection | undefined;
}

/** How an exchange ended, for the log and the counters. */
export interface ExchangeOutcome extends AnswerRecord {
  readonly request: ExchangeRequest;
  /** The client's connection is open and waits for the next request. */
  readonly leavesIdle: boolean;
}

/** The edge, as an exchange sees it. */
export interface ExchangeHost {
  readonly pool: UpstreamPool;
  /** Whether answers are to close their connections. */
  readonly closesConnections: boolean;
  readonly errorAnswer: ErrorAnswer;
  /** The clock of the request log. */
  now(): number;
  onExchangeEnd(outcome: ExchangeOutcome): void;
}

const IDEMPOTENT = new Set([
  'GET',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'REPORT',
  'SEARCH',
  'QUERY',
]);

/** Of an event stream the end may never come, and nothing should wait behind it. */
function isQuickRead({ method, accept }: ExchangeRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS') return false;
  return accept === undefined || !accept.includes('text/event-stream');
}

/** What a client did that went away. uWebSockets.js tells no difference between one that left and one that hangs. */
const GONE = {
  upload: 'the client went away, or hung, in the middle of its body',
  head: 'the client went away before its answer',
  body: 'the client went away, or hung, in the middle of its answer',
  done: 'the client went away',
} as const;

/**
 * One request from its client to the app and the answer back. However it goes, it ends exactly once: with the whole
 * answer, with an error answer of ours, with a cut, or with the client gone.
 */
export class HttpExchange implements UpstreamExchange, RequestBodyOwner {
  readonly requestHead: string;
  readonly isHeadRequest: boolean;
  readonly isReplayable: boolean;
  readonly isShareable: boolean;
  readonly hasRequestBody: boolean;

  readonly #host: ExchangeHost;
  readonly #res: HttpResponse;
  readonly #request: ExchangeRequest;
  readonly #body: RequestBody | undefined;
  readonly #relay: ResponseRelay;
  #connection: UpstreamConnection | undefined;
  #isEndHeld = false;
  /** Set with the head of the answer. */
  #leavesIdle = false;
  #mustClose = false;
  #firstByteAt = 0;
  #isOver = false;

  constructor(host: ExchangeHost, res: HttpResponse, request: ExchangeRequest, body: RequestBody | undefined) {
    this.#host = host;
    this.#res = res;
    this.#request = request;
    this.#body = body;
    this.requestHead = request.head;
    this.isHeadRequest = request.method === 'HEAD';
    this.hasRequestBody = body !== undefined;
    this.isReplayable = body === undefined && IDEMPOTENT.has(request.method);
    this.isShareable = body === undefined && isQuickRead(request);
    this.#relay = new ResponseRelay(res, this);
    if (body !== undefined) body.owner = this;
    res.onAborted(() => this.#onAborted());
  }

  /** Sends the request on its way. */
  start(): void {
    this.#host.pool.dispatch(this);
  }

  get isRequestComplete(): boolean {
    return this.#body === undefined || this.#body.isComplete;
  }

  onAssigned(connection: UpstreamConnection): void {
    this.#connection = connection;
    this.#relay.attach(connection);
  }

  onHeadSent(): void {
    this.#body!.attach(this.#connection!);
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onHead(head: ResponseHead): void {
    this.#firstByteAt = this.#host.now();
    this.#relay.onHead(head);
  }

  onBody(chunk: Buffer): void {
    this.#relay.onBody(chunk);
  }

  onReadEnd(): void {
    this.#relay.onReadEnd();
  }

  onEnd(): void {
    const body = this.#body;
    if (body !== undefined && !body.isComplete) {
      if (this.#relay.status < 300) {
        this.#holdEnd(body);
        return;
      }
      // An error or a redirect is what the client waits for; the app gets no more of the body.
      this.#leaveApp();
    }
    body?.dropRest();
    this.#finishAnswer();
  }

  /**
   * uWebSockets.js drops the rest of a request once its response is complete. An app that answers while it goes on
   * reading is to get the whole body, so the end waits for it.
   */
  #holdEnd(body: RequestBody): void {
    this.#isEndHeld = true;
    this.#relay.keepChunks();
    body.onComplete = () => this.#finishAnswer();
  }

  /** The connection is free, and may serve another exchange long before a slow client has all of this answer. */
  #finishAnswer(): void {
    this.#connection = undefined;
    this.#relay.onEnd();
  }

  onFailure(error: UwsrpError): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#isEndHeld) {
      // The answer is whole; the app only takes no more of the body.
      this.#body?.dropRest();
      this.#relay.onEnd();
      return;
    }
    if (this.#relay.state === 'body') {
      this.#leavesIdle = false;
      // First: uWebSockets.js tells of the cut as of a client that left.
      this.#end(this.#relay.status, error, this.#relay.bodyBytes, true);
      this.#relay.cut();
      return;
    }
    this.#relay.abandon();
    this.#body?.dropRest();
    const answer = this.#host.errorAnswer(error.code, this.#request.accept, this.#request.requestId);
    sendLocalAnswer(this.#res, answer, this.isHeadRequest, this.closing());
    this.#end(answer.status, error, this.isHeadRequest ? 0 : answer.body.length);
  }

  onBodyReceived(): void {
    this.#host.pool.onRequestComplete(this);
  }

  onBodyTooLarge(): void {
    this.#refuseRest(new UwsrpError('BODY_TOO_LARGE', 'more body came than UWSRP_MAX_BODY_SIZE allows'));
  }

  onBodyStalled(): void {
    // An app that is answering may never want the rest.
    if (this.#relay.state !== 'head') return;
    this.#refuseRest(new UwsrpError('UPSTREAM_TIMEOUT', 'the app took nothing of the body for five minutes'));
  }

  /** Ends an upload whose client is still sending. */
  #refuseRest(error: UwsrpError): void {
    const body = this.#body!;
    this.#leaveApp();
    this.#mustClose = true;
    if (body.isComplete || this.#isEndHeld || this.#relay.state !== 'head') {
      this.onFailure(error);
      return;
    }
    this.#relay.abandon();
    const answer = this.#host.errorAnswer(error.code, this.#request.accept, this.#request.requestId);
    sendLastAnswer(this.#res, answer, this.isHeadRequest);
    this.#end(answer.status, error, this.isHeadRequest ? 0 : answer.body.length);
    body.linger(answer);
  }

  onBodySilent(): void {
    this.#leaveApp();
    // Its connection is of no use any more: nobody can tell when the next request begins.
    this.#mustClose = true;
    this.onFailure(new UwsrpError('UPLOAD_TIMEOUT', 'the client was silent in its body for UWSRP_UPLOAD_IDLE_TIMEOUT'));
  }

  closing(): Closing {
    if (this.#request.isLast) return 'asked';
    const closing = this.#mustClose || this.#request.wantsClose || this.#host.closesConnections ? 'ours' : 'no';
    this.#leavesIdle = closing === 'no';
    return closing;
  }

  hsts(head: ResponseHead): string | undefined {
    return head.hasStrictTransportSecurity ? undefined : this.#request.hsts;
  }

  requestId(head: ResponseHead): string | undefined {
    return head.hasRequestId ? undefined : this.#request.requestId;
  }

  get isUploadPaused(): boolean {
    return this.#body?.isPaused === true;
  }

  onDone(): void {
    this.#end(this.#relay.status, undefined);
  }

  /** What is left of the request will not come, or what is left of the answer nobody wants. */
  #leaveApp(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) connection.abandon(this);
    else this.#host.pool.cancel(this);
  }

  #onAborted(): void {
    // It may still be read though the exchange is over.
    this.#body?.stop();
    if (this.#isOver) return;
    this.#leavesIdle = false;
    const message = GONE[this.#body?.isComplete === false ? 'upload' : this.#relay.state];
    this.#relay.abandon();
    this.#end(499, { code: 'CLIENT_GONE', message });
  }

  #end(
    status: number,
    failure: AnswerRecord['failure'],
    bodyBytes: number = this.#relay.bodyBytes,
    isCut = false,
  ): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isUploading = this.#body?.isComplete === false;
    this.#body?.stop();
    if (status === 499 || isUploading) this.#leaveApp();
    this.#connection = undefined;
    this.#host.onExchangeEnd({
      request: this.#request,
      status,
      bodyBytes,
      firstByteAt: this.#firstByteAt,
      isCut,
      failure,
      leavesIdle: this.#leavesIdle && !isUploading,
    });
  }
}
