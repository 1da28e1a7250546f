import type { us_socket_context_t, WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import type { Config } from '../config/config.ts';
import { thrownText } from '../lib/thrown-text.ts';
import type { NativeRoute, NativeRoutes } from '../native/native-routes.ts';
import { requestFraming } from '../proxy/framing.ts';
import { GOING_AWAY, MESSAGE_TOO_BIG } from '../upstream/websocket-frame.ts';
import { retireWebSocket } from './closed-websocket.ts';
import type { KeepAlive } from './keep-alive.ts';
import { NativeExchange } from './native-exchange.ts';
import { loggedRequest } from './request-log.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.ts';
import { compressOptions } from './websocket-compression.ts';
import { cutCode, tooBigText } from './websocket-cut.ts';
import type { GateHost } from './websocket-gate.ts';
import type { CatchAllPatterns, WebSocketRelays } from './websocket-relays.ts';
import { judgeUpgrade } from './websocket-request.ts';

export interface NativeHandlersOptions {
  readonly host: GateHost;
  readonly relays: Pick<WebSocketRelays, 'isClosing' | 'isPassing'>;
  readonly keepAlive: KeepAlive | undefined;
  readonly config: Pick<Config, 'wsMaxMessageBytes' | 'wsIdleTimeoutMs' | 'wsCompression'>;
}

/** What a client's end without a close frame is told as. */
const ABNORMAL = 1006;

const decoder = new TextDecoder();

type UpgradeHandler = (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) => unknown;

/**
 * Puts the routes of the user's module before ours. uWebSockets.js tries the routes of `ws` first, then those of a
 * method, then `any`; among each kind the more exact pattern first. So the module's routes win over ours, which match
 * everything, and a route that yields leaves the request to them. Only the same pattern must not be registered twice: the
 * second would replace the first. Whatever begins with `/*` matches everything and is tried in the order of registration:
 * hence ours is `/**` where the module has `/*`. (Not always: `any` has a `/*` from the beginning, which answers 404.)
 *
 * What our own rules answer (a redirect, the health path, a bad request, a stop) is yielded to our routes, which find
 * the same answer. A relayed handshake comes by the HTTP routes too (see `WebSocketRelays.register`): they let it pass.
 */
export class NativeHandlers {
  readonly #options: NativeHandlersOptions;
  readonly #sockets = new Set<WebSocket<unknown>>();
  #onEmpty: (() => void)[] = [];

  constructor(options: NativeHandlersOptions) {
    this.#options = options;
  }

  /** Registers the module's routes; gives the patterns for ours, which come after them. */
  register(app: TemplatedApp, native: NativeRoutes): CatchAllPatterns {
    const { reader, pipeline } = this.#options.host;
    native.attach({
      app,
      isCompressing: this.#options.config.wsCompression !== 'off',
      clientAddress(res, req) {
        reader.read(res, req);
        return pipeline.clientAddress(reader);
      },
    });
    for (const route of native.routes) {
      if (route.kind === 'ws') app.ws(route.pattern, this.#behavior(route));
      else app[route.method](route.pattern, this.#handler(route));
    }
    const isTaken = (name: string) =>
      native.routes.some((route) => route.pattern === '/*' && (route.kind === 'ws' ? 'ws' : route.method) === name);
    return { ws: isTaken('ws') ? '/**' : '/*', any: isTaken('any') ? '/**' : '/*' };
  }

  get isEmpty(): boolean {
    return this.#sockets.size === 0;
  }

  whenEmpty(): Promise<void> {
    if (this.isEmpty) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
    });
  }

  /** Closes every WebSocket with 1001. */
  closeAll(): void {
    for (const ws of [...this.#sockets]) ws.end(GOING_AWAY);
  }

  #handler({ method, pattern, run }: NativeRoute & { kind: 'http' }): (res: HttpResponse, req: HttpRequest) => void {
    return (res, req) => {
      if (this.#options.relays.isPassing(req)) {
        req.setYield(true);
        return;
      }
      const verdict = judgeUpgrade(req);
      const isOurs = verdict !== 'none' && verdict !== 'valid';
      if (isOurs || !this.#take(res, req, `${method} ${pattern}`, () => run(res, req))) req.setYield(true);
    };
  }

  #behavior({ pattern, behavior }: NativeRoute & { kind: 'ws' }): WebSocketBehavior<unknown> {
    const { relays, config } = this.#options;
    const { upgrade = upgradeAtOnce, open, close, ...rest } = behavior;
    const guard = <A extends unknown[]>(name: string, handler: ((...args: A) => unknown) | undefined) =>
      handler === undefined ? undefined : this.#guard(`ws ${pattern} ${name}`, handler);
    const guardedOpen = guard('open', open);
    const guardedClose = guard('close', close);
    const handlers = Object.entries(rest).map(([name, value]) => [
      name,
      typeof value === 'function' ? guard(name, value as () => unknown) : value,
    ]);
    return {
      compression: compressOptions(config.wsCompression),
      maxPayloadLength: config.wsMaxMessageBytes,
      idleTimeout: config.wsIdleTimeoutMs / 1000,
      ...Object.fromEntries(handlers),
      upgrade: (res, req, context) => {
        const isOurs = judgeUpgrade(req) !== 'valid' || relays.isClosing;
        if (!isOurs) {
          const run = () => (upgrade as UpgradeHandler)(res, req, context);
          if (this.#take(res, req, `ws ${pattern} upgrade`, run)) return;
        }
        req.setYield(true);
      },
      open: (ws) => {
        this.#sockets.add(ws);
        guardedOpen?.(ws);
        // An upgrade that took its time may open in the middle of a stop.
        if (relays.isClosing && this.#sockets.has(ws)) ws.end(GOING_AWAY);
      },
      close: (ws, code, reason) => {
        this.#sockets.delete(ws);
        // Before the handler: uWebSockets.js throws from here on.
        this.#retire(ws, `ws ${pattern}`);
        if (code === ABNORMAL && cutCode(decoder.decode(reason)) === MESSAGE_TOO_BIG) {
          const text = tooBigText(rest.maxPayloadLength ?? config.wsMaxMessageBytes, 'maxPayloadLength');
          this.#options.host.log.warn({ handler: `ws ${pattern}` }, text);
        }
        guardedClose?.(ws, code, reason);
        if (this.isEmpty) for (const resolve of this.#onEmpty.splice(0)) resolve();
      },
    };
  }

  /** Told once: a timer that nobody clears would fill the log. */
  #retire(ws: WebSocket<unknown>, handler: string): void {
    let isTold = false;
    retireWebSocket(ws, (method) => {
      if (isTold) return;
      isTold = true;
      this.#log(handler, new Error(`ws.${method} was called after the WebSocket had closed`));
    });
  }

  /** Gives a request to the module, unless a rule of ours answers it; false when it goes to the next route. */
  #take(res: HttpResponse, req: HttpRequest, name: string, run: () => unknown): boolean {
    const { host, keepAlive } = this.#options;
    const { reader, pipeline, requestLog } = host;
    const startedAt = requestLog.now();
    reader.read(res, req);
    const framing = requestFraming(reader.contentLength, reader.transferEncoding);
    const requestId = pipeline.requestId(reader);
    if (pipeline.answer(reader, framing, requestId) !== undefined) return false;

    const isUpgrade = name.startsWith('ws ');
    const kept = keepAlive?.onRequest(reader);
    // Nobody may touch a connection any more that becomes a WebSocket.
    if (isUpgrade && kept !== undefined) keepAlive!.forget(kept);
    const hasBody = framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0);
    const { accept, isLast } = reader;
    const request = loggedRequest(reader, requestId, startedAt);
    host.onAnswering();
    const exchange = new NativeExchange(res, req, {
      closesConnection: () => host.closesConnections,
      internalError: () => pipeline.errorAnswer('INTERNAL', accept, requestId),
      onError: (error) => this.#log(name, error),
      onEnd: (answer, isClean) => {
        requestLog.onAnswer(request, answer);
        if (!isUpgrade && kept !== undefined) {
          if (isClean && !hasBody && !isLast) keepAlive!.onIdle(kept);
          else keepAlive!.forget(kept);
        }
        host.onAnswered();
      },
    });
    const isTaken = exchange.run(run);
    if (!isTaken) host.onAnswered();
    return isTaken;
  }

  #guard<A extends unknown[]>(name: string, handler: (...args: A) => unknown): (...args: A) => void {
    const onError = (error: unknown) => this.#log(name, error);
    return (...args) => {
      try {
        const result = handler(...args);
        if (result instanceof Promise) result.catch(onError);
      } catch (error) {
        onError(error);
      }
    };
  }

  #log(handler: string, error: unknown): void {
    const err = error instanceof Error ? error : thrownText(error);
    this.#options.host.log.error({ err, handler }, 'a handler of UWSRP_WS_MODULE failed');
  }
}

/** What uWebSockets.js does without an `upgrade` handler, done here so that our rules come first. */
const upgradeAtOnce: UpgradeHandler = (res, req, context) => {
  res.upgrade(
    {},
    req.getHeader('sec-websocket-key'),
    req.getHeader('sec-websocket-protocol'),
    req.getHeader('sec-websocket-extensions'),
    context,
  );
};
