import type { UwsrpError } from '../../src/lib/errors.ts';
import type { UpstreamExchange } from '../../src/upstream/exchange.ts';
import type { ResponseHead } from '../../src/upstream/response-head.ts';
import type { UpstreamConnection } from '../../src/upstream/upstream-connection.ts';
import { withTimeout } from './timeout.ts';

type CallbackName = 'onAssigned' | 'onHeadSent' | 'onHead' | 'onBody' | 'onReadEnd' | 'onEnd' | 'onDrain' | 'onFailure';

export interface RecordingOptions {
  readonly method?: string;
  readonly target?: string;
  /** Further header lines, each without its line end. */
  readonly lines?: readonly string[];
  /** Default: GET and HEAD are. */
  readonly isReplayable?: boolean;
  /** Default: it may not. */
  readonly isShareable?: boolean;
  /** Default: none follows the head. */
  readonly hasRequestBody?: boolean;
  /** Called inside of the named callback: what an exchange may do there. */
  readonly on?: Partial<Record<CallbackName, (exchange: RecordingExchange) => void>>;
}

/**
 * An exchange that records what it is told, and throws when it is told something that the contract of
 * UpstreamExchange rules out: the error is uncaught, and fails the test.
 */
export class RecordingExchange implements UpstreamExchange {
  readonly requestHead: string;
  readonly isHeadRequest: boolean;
  readonly isReplayable: boolean;
  readonly isShareable: boolean;
  readonly hasRequestBody: boolean;
  isRequestComplete: boolean;
  /** Names of the callbacks, in order; repeated ones once. */
  readonly told: CallbackName[] = [];
  /** One for each try. */
  readonly connections: UpstreamConnection[] = [];
  status = 0;
  isEnded = false;
  failure: UwsrpError | undefined;
  #isGivenUp = false;
  #isHeadSent = false;
  /** What of the body was written before the head: it is kept, should the exchange be assigned again. */
  readonly #unsent: (string | Buffer)[] = [];
  readonly #on: NonNullable<RecordingOptions['on']>;
  readonly #body: Buffer[] = [];
  readonly #views: Buffer[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: RecordingOptions = {}) {
    const { method = 'GET', target = '/', lines = [], hasRequestBody = false, on = {} } = options;
    this.requestHead = [`${method} ${target} HTTP/1.1`, 'Host: a', ...lines, '\r\n'].join('\r\n');
    this.isHeadRequest = method === 'HEAD';
    this.isReplayable = options.isReplayable ?? (method === 'GET' || method === 'HEAD');
    this.isShareable = options.isShareable ?? false;
    this.hasRequestBody = hasRequestBody;
    this.isRequestComplete = !hasRequestBody;
    this.#on = on;
  }

  /** The connection of the last try. */
  get connection(): UpstreamConnection {
    return this.connections.at(-1)!;
  }

  get body(): string {
    return Buffer.concat(this.#body).toString('latin1');
  }

  /** Writes all of the body, and says that it is complete. */
  upload(...chunks: (string | Buffer)[]): void {
    for (const chunk of chunks) this.write(chunk);
    this.isRequestComplete = true;
    if (this.#isHeadSent) this.connection.finishRequest();
  }

  /** Writes a part of the body, as soon as the head is written. False asks to wait for `onDrain`. */
  write(chunk: string | Buffer): boolean {
    if (this.#isHeadSent) return this.connection.write(chunk);
    this.#unsent.push(chunk);
    return true;
  }

  /** Gives the exchange up, as the edge does when its client is gone. */
  abandon(): void {
    this.isGivenUp = true;
    this.connection.abandon(this);
  }

  onAssigned(connection: UpstreamConnection): void {
    if (this.status !== 0) throw new Error('sent again after a head');
    this.connections.push(connection);
    this.#isHeadSent = false;
    this.#tell('onAssigned');
  }

  onHeadSent(): void {
    if (!this.hasRequestBody || this.#isHeadSent) throw new Error('no head was due of a request with a body');
    this.#isHeadSent = true;
    this.#tell('onHeadSent');
    for (const chunk of this.#unsent) this.connection.write(chunk);
    if (this.isRequestComplete) this.connection.finishRequest();
  }

  onHead(head: ResponseHead): void {
    if (this.status !== 0) throw new Error('a second head');
    this.status = head.status;
    this.#tell('onHead');
  }

  onBody(chunk: Buffer): void {
    if (this.status === 0) throw new Error('a body without a head');
    this.#views.push(chunk);
    this.#tell('onBody');
  }

  onReadEnd(): void {
    this.#keepViews();
    this.#tell('onReadEnd');
  }

  onEnd(): void {
    if (this.status === 0) throw new Error('an end without a head');
    this.#keepViews();
    this.#tell('onEnd', () => {
      this.isEnded = true;
    });
  }

  onDrain(): void {
    this.#tell('onDrain');
  }

  onFailure(error: UwsrpError): void {
    this.#tell('onFailure', () => {
      this.failure = error;
    });
  }

  /** Set by the test when it has given the exchange up: nothing may be told any more. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Nothing is told of an exchange that was given up, so that who waits for news must hear of this. */
  set isGivenUp(value: boolean) {
    this.#isGivenUp = value;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Waits until the exchange has ended or failed, and gives what it is then. */
  async settled(ms?: number): Promise<this> {
    await this.until(() => this.isEnded || this.failure !== undefined, 'the end of the exchange', ms);
    return this;
  }

  /** Waits for the failure. */
  async failed(ms?: number): Promise<UwsrpError> {
    await this.until(() => this.failure !== undefined, 'the failure of the exchange', ms);
    return this.failure!;
  }

  async until(condition: () => boolean, what: string, ms = 5000): Promise<void> {
    const deadline = Date.now() + ms;
    while (!condition()) {
      const news = new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      await withTimeout(news, () => `${what}; told: ${this.told}`, Math.max(1, deadline - Date.now()));
    }
  }

  /** A view dies with its read: it is copied at the last moment at which it must still be right. */
  #keepViews(): void {
    for (const view of this.#views.splice(0)) this.#body.push(Buffer.from(view));
  }

  #tell(name: CallbackName, record?: () => void): void {
    if (this.isGivenUp) throw new Error(`${name} after it was given up`);
    if (this.failure !== undefined) throw new Error(`${name} after a failure`);
    if (this.isEnded && !(name === 'onDrain' || (name === 'onFailure' && !this.isRequestComplete))) {
      throw new Error(`${name} after the end`);
    }
    record?.();
    if (this.told.at(-1) !== name) this.told.push(name);
    for (const wake of this.#waiting.splice(0)) wake();
    this.#on[name]?.(this);
  }
}
