import type { LocalAnswer } from '../proxy/local-answer.ts';
import { type ResponseWatch, unwatched, watchRequest, watchResponse } from './guarded-response.ts';
import { sendLocalAnswer } from './local-answer.ts';
import type { AnswerRecord } from './request-log.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

export interface NativeExchangeOptions {
  /** Whether an answer that is given now closes its connection. */
  closesConnection(): boolean;
  /** The answer to a request whose handler failed. */
  internalError(): LocalAnswer;
  /** A handler, or a callback that it gave to uWebSockets.js, threw or rejected. */
  onError(error: unknown): void;
  /** Once, when the response is over; `isClean` when the connection may serve another request. */
  onEnd(answer: AnswerRecord, isClean: boolean): void;
}

/** A request that a native handler has, from its call to the end of its answer, whatever the handler does. */
export class NativeExchange implements ResponseWatch {
  hasBegun = false;
  hasBody = false;
  isLast = false;
  status = 200;
  bodyBytes = 0;
  isYielded = false;
  isOver = false;
  onAborted: (() => void) | undefined;
  readonly #res: HttpResponse;
  readonly #req: HttpRequest;
  readonly #isHeadRequest: boolean;
  readonly #options: NativeExchangeOptions;

  constructor(res: HttpResponse, req: HttpRequest, options: NativeExchangeOptions) {
    this.#res = res;
    this.#req = req;
    this.#isHeadRequest = req.getCaseSensitiveMethod() === 'HEAD';
    this.#options = options;
  }

  get closesConnection(): boolean {
    return this.#options.closesConnection();
  }

  /** Runs the handler; gives whether it took the request (and did not yield). */
  run(handler: () => unknown): boolean {
    const abortedOf = this.#res.onAborted;
    watchResponse(this.#res, this);
    watchRequest(this.#req, this);
    this.#call(handler, []);
    if (this.isOver) return true;
    if (this.isYielded) {
      this.isOver = true;
      return false;
    }
    // uWebSockets.js ends the process when a handler neither answers nor does this.
    abortedOf.call(this.#res, () => this.#onAborted());
    return true;
  }

  guard<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R | undefined {
    return (...args) => this.#call(callback, args);
  }

  onLate(method: string): void {
    this.#options.onError(new Error(`res.${method} was called after the response had ended or its client had gone`));
  }

  onOver(how: 'ended' | 'closed' | 'upgraded'): void {
    const status = how === 'upgraded' ? 101 : this.status;
    this.#end({ status, isCut: how === 'closed', failure: undefined }, how === 'ended' && !this.isLast);
  }

  #call<A extends unknown[], R>(callback: (...args: A) => R, args: A): R | undefined {
    try {
      const result = callback(...args);
      if (result instanceof Promise) result.catch((error: unknown) => this.#fail(error));
      return result;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #onAborted(): void {
    if (this.isOver) return;
    this.#end({ status: 499, isCut: false, failure: GONE }, false);
    this.onAborted?.();
  }

  /** The client gets 500, or a cut when a part of another answer is out. */
  #fail(error: unknown): void {
    this.#options.onError(error);
    if (this.isOver) return;
    if (this.isYielded) {
      this.isYielded = false;
      this.#req.setYield(false);
    }
    if (this.hasBegun) {
      this.#end({ status: this.status, isCut: true, failure: FAILED }, false);
      unwatched(this.#res, () => this.#res.close());
      return;
    }
    const answer = this.#options.internalError();
    this.#end({ status: answer.status, isCut: false, failure: FAILED }, false);
    // What is left of the request nobody reads.
    unwatched(this.#res, () => sendLocalAnswer(this.#res, answer, this.#isHeadRequest, 'ours'));
  }

  #end(answer: Pick<AnswerRecord, 'status' | 'isCut' | 'failure'>, isClean: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#options.onEnd({ ...answer, bodyBytes: this.bodyBytes, firstByteAt: 0 }, isClean);
  }
}

const GONE = { code: 'CLIENT_GONE', message: 'the client went away before its answer' };
const FAILED = { code: 'INTERNAL', message: 'a handler of UWSRP_WS_MODULE failed' };
