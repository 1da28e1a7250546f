import type uWS from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { loadModule } from './load-module.ts';
import { NativeRoutes } from './native-routes.ts';
import type { Message } from './pub-sub.ts';
import { Publisher } from './publisher.ts';

export interface NativeOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly uws: typeof uWS;
  /** Hands what the module publishes on to other threads and instances. */
  send(message: Message): void;
}

/** The user's module in one thread of the proxy: its routes, and what it publishes. */
export class Native {
  readonly routes = new NativeRoutes();
  readonly #options: NativeOptions;
  readonly #stop = new AbortController();
  readonly #publisher = new Publisher(this.routes);

  private constructor(options: NativeOptions) {
    this.#options = options;
    this.#publisher.join(options);
  }

  /**
   * Loads the module of `UWSRP_WS_MODULE`; undefined when there is none.
   *
   * @throws UwsrpError CONFIG_INVALID when it cannot be loaded.
   */
  static async load(options: NativeOptions): Promise<Native | undefined> {
    const { wsModule } = options.config;
    if (wsModule === undefined) return undefined;
    const native = new Native(options);
    await native.#load(wsModule);
    return native;
  }

  /** To the subscribers of this thread. */
  deliver(message: Message): void {
    this.#publisher.deliver(message);
  }

  /** Tells the module that a stop has begun. */
  startStop(): void {
    this.#stop.abort();
  }

  async #load(path: string): Promise<void> {
    const { config, log, uws } = this.#options;
    await loadModule(path, this.routes, {
      log: log.child({ from: 'UWSRP_WS_MODULE' }),
      config,
      signal: this.#stop.signal,
      publish: (topic, message, isBinary) => this.#publisher.publish(topic, message, isBinary),
      clientAddress: (res, req) => this.routes.clientAddress(res, req),
      uws,
    });
    this.routes.seal();
    log.info({ routes: this.routes.routes.length }, `loaded ${path}`);
  }
}
