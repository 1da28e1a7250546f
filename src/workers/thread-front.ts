import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { Edge } from '../edge/edge.ts';
import type { PublicPort } from '../edge/public-port.ts';
import { uWS } from '../edge/uws.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { Native } from '../native/native.ts';
import type { Message } from '../native/pub-sub.ts';
import type { ErrorPages } from '../proxy/error-pages.ts';
import { createPipeline } from '../proxy/pipeline.ts';
import { UpstreamPool } from '../upstream/upstream-pool.ts';

export interface ThreadFrontOptions {
  readonly config: Config;
  readonly errorPages: ErrorPages;
  readonly log: Logger;
  /** Hands what the module publishes on to other threads and instances. */
  publish(message: Message): void;
}

/** What one thread serves with: the user's module, the connections to the app, the rules and the public side. */
export class ThreadFront {
  readonly #options: ThreadFrontOptions;
  #native: Native | undefined;
  #pool: UpstreamPool | undefined;
  #edge: Edge | undefined;
  #isDraining = false;

  constructor(options: ThreadFrontOptions) {
    this.#options = options;
  }

  /** @throws UwsrpError CONFIG_INVALID when the module of `UWSRP_WS_MODULE` cannot be loaded. */
  async load(): Promise<void> {
    const { config, log, publish } = this.#options;
    this.#native = await Native.load({ config, log, uws: uWS, send: publish });
  }

  listen(target: UpstreamTarget, port: PublicPort, isShared: boolean): Promise<number> {
    const { config, errorPages, log } = this.#options;
    const pool = new UpstreamPool({
      target,
      maxConnections: config.appConnections,
      connectTimeoutMs: config.connectTimeoutMs,
      responseTimeoutMs: config.responseTimeoutMs,
      queueTimeoutMs: config.appQueueTimeoutMs,
      pipelining: config.appPipelining,
    });
    const state = { isAppUp: () => pool.checkReachable(), isDraining: () => this.#isDraining };
    const pipeline = createPipeline(config, state, errorPages);
    this.#pool = pool;
    this.#edge = new Edge({ config, pipeline, pool, log, native: this.#native?.routes });
    return this.#edge.listen(port, isShared);
  }

  /** To native subscribers of this thread. */
  deliver(message: Message): void {
    // A module that is still being loaded has none.
    if (this.#edge !== undefined) this.#native?.deliver(message);
  }

  startDrain(): void {
    this.#isDraining = true;
    this.#edge?.startDrain();
    this.#native?.startStop();
  }

  stopListening(): void {
    this.#edge?.stopListening();
  }

  closeWebSockets(): void {
    this.#edge?.closeWebSockets();
  }

  async whenIdle(): Promise<void> {
    await this.#edge?.whenIdle();
  }

  async drain(): Promise<void> {
    await this.#edge?.whenIdle();
    this.#edge?.closeIdle();
  }

  /** uWebSockets.js frees what is closed at the end of a turn of the loop: resolves after that. */
  async close(): Promise<void> {
    this.#edge?.close();
    this.#pool?.close();
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
  }
}
