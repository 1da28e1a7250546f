import type { HttpRequest, HttpResponse, RecognizedString, TemplatedApp, WebSocketBehavior } from 'uWebSockets.js';
import { isWorthCompressing } from '../lib/is-worth-compressing.ts';
import type { NativeApp, NativeHandler, NativeHttpMethod } from './native-module.ts';

/** One route that a module registered. */
export type NativeRoute =
  | { readonly kind: 'http'; readonly method: NativeHttpMethod; readonly pattern: string; readonly run: NativeHandler }
  | { readonly kind: 'ws'; readonly pattern: string; readonly behavior: WebSocketBehavior<unknown> };

/** The running edge, as a module's app and context ask it. */
export interface NativeHost {
  readonly app: Pick<TemplatedApp, 'publish' | 'numSubscribers'>;
  /** `UWSRP_WS_COMPRESSION` is not off. */
  readonly isCompressing: boolean;
  clientAddress(res: HttpResponse, req: HttpRequest): string;
}

/** What belongs to uwsrp; the last four would redirect every later registration, ours too, or are about TLS. */
const REFUSED = [
  ...['listen', 'listen_unix', 'close', 'filter', 'connect', 'getDescriptor', 'adoptSocket'],
  ...['addChildAppDescriptor', 'removeChildAppDescriptor'],
  ...['domain', 'addServerName', 'removeServerName', 'missingServerName'],
];

/** uWebSockets.js ends the process for a value that is out of these bounds (seconds, minutes). */
const MIN_IDLE_SECONDS = 8;
const MAX_IDLE_SECONDS = 960;
const MAX_LIFETIME_MINUTES = 240;

/**
 * The app as a module sees it: keeps what the module registers until the edge is built, so that a module is loaded, and
 * found at fault, before the command is started. Everything that uWebSockets.js would punish with the end of the process
 * is an Error here.
 */
export class NativeRoutes implements NativeApp {
  readonly routes: NativeRoute[] = [];
  #isSealed = false;
  #host: NativeHost | undefined;

  constructor() {
    for (const name of REFUSED) {
      const value = () => {
        throw new Error(`app.${name} is not for modules: listening and connections are uwsrp's`);
      };
      Object.defineProperty(this, name, { value });
    }
  }

  readonly get = this.#http('get');
  readonly post = this.#http('post');
  readonly put = this.#http('put');
  readonly patch = this.#http('patch');
  readonly del = this.#http('del');
  readonly head = this.#http('head');
  readonly options = this.#http('options');
  readonly trace = this.#http('trace');
  readonly any = this.#http('any');

  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): this {
    this.#check('ws', pattern);
    checkBehavior(pattern, behavior as WebSocketBehavior<unknown>);
    this.routes.push({ kind: 'ws', pattern, behavior: { ...behavior } as WebSocketBehavior<unknown> });
    return this;
  }

  /** Where compression has been agreed on it is used, unless `compress` says otherwise. */
  publish(topic: RecognizedString, message: RecognizedString, isBinary?: boolean, compress?: boolean): boolean {
    if (this.#host === undefined) return false;
    const { app, isCompressing } = this.#host;
    return app.publish(topic, message, isBinary, compress ?? (isCompressing && isWorthCompressing(lengthOf(message))));
  }

  numSubscribers(topic: RecognizedString): number {
    return this.#host?.app.numSubscribers(topic) ?? 0;
  }

  clientAddress(res: HttpResponse, req: HttpRequest): string {
    if (this.#host === undefined) throw new Error('clientAddress is for handlers');
    return this.#host.clientAddress(res, req);
  }

  /** No route comes after this: the module has been loaded. */
  seal(): void {
    this.#isSealed = true;
  }

  attach(host: NativeHost): void {
    this.#host = host;
  }

  #http(method: NativeHttpMethod): (pattern: string, handler: NativeHandler) => this {
    return (pattern, run) => {
      this.#check(method, pattern);
      if (typeof run !== 'function') throw new TypeError(`app.${method}('${pattern}') needs a function`);
      this.routes.push({ kind: 'http', method, pattern, run });
      return this;
    };
  }

  #check(method: string, pattern: string): void {
    if (this.#isSealed) throw new Error(`app.${method}: routes can be registered only while the module is loaded`);
    // A pattern of ours would be replaced.
    if (typeof pattern !== 'string' || !pattern.startsWith('/') || pattern.startsWith('/**')) {
      throw new TypeError(`app.${method}: a pattern is a string that begins with /, such as /chat/:room or /*`);
    }
  }
}

function lengthOf(message: RecognizedString): number {
  return typeof message === 'string' ? message.length : message.byteLength;
}

const CALLBACKS = ['upgrade', 'open', 'message', 'dropped', 'drain', 'close', 'ping', 'pong', 'subscription'] as const;

function checkBehavior(pattern: string, behavior: WebSocketBehavior<unknown> | undefined): void {
  const what = `app.ws('${pattern}')`;
  if (typeof behavior !== 'object' || behavior === null) throw new TypeError(`${what} needs an object of handlers`);
  for (const name of CALLBACKS) {
    const value: unknown = behavior[name];
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${what}: ${name} is not a function`);
  }
  const { idleTimeout = 0, maxLifetime = 0, maxPayloadLength = 1 } = behavior;
  if (idleTimeout !== 0 && !(idleTimeout >= MIN_IDLE_SECONDS && idleTimeout <= MAX_IDLE_SECONDS)) {
    throw new RangeError(`${what}: idleTimeout is 0, or ${MIN_IDLE_SECONDS} to ${MAX_IDLE_SECONDS} seconds`);
  }
  if (!(maxLifetime >= 0 && maxLifetime <= MAX_LIFETIME_MINUTES)) {
    throw new RangeError(`${what}: maxLifetime is 0 to ${MAX_LIFETIME_MINUTES} minutes`);
  }
  if (!(maxPayloadLength > 0)) throw new RangeError(`${what}: maxPayloadLength is a number of bytes`);
}
