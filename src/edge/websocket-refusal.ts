import { UwsrpError } from '../lib/errors.ts';
import type { ResponseHead } from '../upstream/response-head.ts';
import { ResponseParser, type ResponseSink } from '../upstream/response-parser.ts';
import type { UpgradeRefusal } from '../upstream/websocket-client.ts';
import { type Closing, ResponseRelay } from './response-relay.ts';
import type { HttpResponse } from './uws.ts';

export interface RefusalOwner {
  closing(): Closing;
  hsts(head: ResponseHead): string | undefined;
  requestId(head: ResponseHead): string | undefined;
  /** The answer is with the client, was cut, or nobody is there any more; `error` says why it failed, if it did. */
  onEnd(status: number, bodyBytes: number, error: UwsrpError | undefined): void;
  /** Nothing of the app's answer can be used: the client gets one of ours. Ends the refusal as well. */
  onInvalid(error: UwsrpError): void;
}

/**
 * What the app answers to a WebSocket handshake instead of 101 (a redirect, a challenge, an error) goes to the client
 * like any other response: status, fields and body as they are, streamed.
 */
export class WebSocketRefusal implements ResponseSink {
  readonly #refusal: UpgradeRefusal;
  readonly #owner: RefusalOwner;
  readonly #relay: ResponseRelay;
  readonly #parser = new ResponseParser();
  #isOver = false;

  constructor(res: HttpResponse, refusal: UpgradeRefusal, owner: RefusalOwner) {
    this.#refusal = refusal;
    this.#owner = owner;
    this.#relay = new ResponseRelay(res, {
      isHeadRequest: false,
      closing: () => owner.closing(),
      hsts: (head) => owner.hsts(head),
      requestId: (head) => owner.requestId(head),
      onDone: () => this.#end(undefined),
    });
    this.#relay.attach({
      pauseReading: () => refusal.socket.pause(),
      resumeReading: () => refusal.socket.resume(),
    });
    res.onAborted(() => {
      this.#relay.abandon();
      this.#end(undefined, 499);
    });
  }

  /** Reads what came with the refusal already, and then the rest. */
  start(): void {
    const { socket, received } = this.#refusal;
    this.#parser.expect(false, this);
    this.#refusal.onData((chunk) => this.#read(chunk));
    socket.on('error', () => {});
    socket.once('end', () => this.#onClosed());
    socket.once('close', () => this.#onClosed());
    this.#read(received);
    if (!this.#isOver) socket.resume();
  }

  onHead(head: ResponseHead): void {
    this.#relay.onHead(head);
  }

  onBody(chunk: Buffer): void {
    this.#relay.onBody(chunk);
  }

  onEnd(): void {
    this.#relay.onEnd();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const result = this.#parser.execute(chunk);
    if (this.#isOver) return;
    if (typeof result === 'string') this.#fail('UPSTREAM_INVALID', `the app's response is refused: ${result}`);
    else if (!this.#parser.isIdle) this.#relay.onReadEnd();
  }

  #onClosed(): void {
    if (this.#isOver || this.#parser.isIdle) return;
    const missing = this.#parser.finish();
    if (missing !== undefined) this.#fail('UPSTREAM_CLOSED', `the app closed the connection ${missing}`);
  }

  #fail(code: 'UPSTREAM_INVALID' | 'UPSTREAM_CLOSED', why: string): void {
    const error = new UwsrpError(code, why);
    if (this.#relay.state === 'head') {
      this.#relay.abandon();
      this.#isOver = true;
      this.#refusal.socket.destroy();
      this.#owner.onInvalid(error);
      return;
    }
    // First: uWebSockets.js tells of the cut as of a client that left.
    this.#end(error);
    this.#relay.cut();
  }

  #end(error: UwsrpError | undefined, status: number = this.#relay.status): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#refusal.socket.destroy();
    this.#owner.onEnd(status, this.#relay.bodyBytes, error);
  }
}
