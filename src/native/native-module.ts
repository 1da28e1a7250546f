import type uWS from 'uWebSockets.js';
import type { HttpRequest, HttpResponse, RecognizedString, TemplatedApp, WebSocketBehavior } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';

/**
 * What the module that `UWSRP_WS_MODULE` names exports by default. It is called once (once in each worker), before the
 * command is started and the port is open. What it registers is served in the proxy; everything else goes to the
 * command. When it throws or rejects, uwsrp does not start (exit code 78).
 */
export type NativeModule = (app: NativeApp, context: NativeContext) => void | Promise<void>;

export type NativeHandler = (res: HttpResponse, req: HttpRequest) => void | Promise<void>;

/** Methods of the uWebSockets.js app by which HTTP routes are registered; `del` is DELETE, `any` every method. */
export type NativeHttpMethod = 'get' | 'post' | 'put' | 'patch' | 'del' | 'head' | 'options' | 'trace' | 'any';

/**
 * The uWebSockets.js app, as far as it is a module's: patterns, handlers and behaviours are those of uWebSockets.js.
 * Routes are registered until the module's function has returned (or its promise is resolved), not later.
 *
 * A handler may call `req.setYield(true)` to leave a request to the next matching route, in the end to the command.
 */
export interface NativeApp extends Record<NativeHttpMethod, (pattern: string, handler: NativeHandler) => NativeApp> {
  /**
   * `maxPayloadLength`, `idleTimeout` and `compression` default to what `UWSRP_WS_MAX_MESSAGE`, `UWSRP_WS_IDLE_TIMEOUT`
   * and `UWSRP_WS_COMPRESSION` say. `UserData` is what `res.upgrade` was given and `ws.getUserData()` gives: it has to be
   * named, as in `app.ws<User>('/chat', { … })`.
   */
  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): NativeApp;
  /**
   * Publishes to the subscribers of this thread alone; see `NativeContext.publish`. With `UWSRP_WS_COMPRESSION` the message
   * is compressed, unless the last argument says otherwise.
   */
  publish: TemplatedApp['publish'];
  /** Subscribers of this thread alone: other workers and instances count their own. */
  numSubscribers(topic: RecognizedString): number;
}

/** What can be published: text, or bytes. */
export type PublishedMessage = string | ArrayBuffer | ArrayBufferView;

/** What a module is given besides the app. */
export interface NativeContext {
  /** Writes to uwsrp's own log. */
  readonly log: Logger;
  /** The configuration in force; frozen. It holds the command's whole environment, secrets too. */
  readonly config: Config;
  /** Aborted when uwsrp begins to stop, before WebSockets are closed with 1001. */
  readonly signal: AbortSignal;
  /**
   * Publishes to the subscribers of a topic: those of this process at once, and with `UWSRP_PUBSUB_URL` those of every
   * other instance. A message is a text frame when it is a string, else a binary one, unless `isBinary` says otherwise.
   */
  publish(topic: string, message: PublishedMessage, isBinary?: boolean): void;
  /** The client's address by the rules of `UWSRP_TRUST_PROXY`. To be called before the handler returns or awaits. */
  clientAddress(res: HttpResponse, req: HttpRequest): string;
  /** The uWebSockets.js module itself: constants such as `SHARED_COMPRESSOR`. */
  readonly uws: typeof uWS;
}
