import type uWS from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { UwsrpError } from '../lib/errors.ts';
import { loadModule } from './load-module.ts';
import { NativeRoutes } from './native-routes.ts';
import type { PubSub } from './pub-sub.ts';
import { PublishEndpoint } from './publish-endpoint.ts';
import { Publisher } from './publisher.ts';
import { RedisPubSub } from './redis-pub-sub.ts';

export interface NativeOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly uws: typeof uWS;
}

/** The user's module in the proxy: its routes, and what publishes to the subscribers it has made. */
export class Native {
  readonly routes = new NativeRoutes();
  readonly #options: NativeOptions;
  readonly #stop = new AbortController();
  readonly #publisher = new Publisher(this.routes);
  #endpoint: PublishEndpoint | undefined;
  #pubSub: PubSub | undefined;
  /** Rejects with an error that nothing caught: of a timer of the module, say. Then the proxy is to end in order. */
  readonly failed: Promise<never>;
  #fail!: (error: unknown) => void;

  private constructor(options: NativeOptions) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = (error) => reject(uncaught(error));
    });
    this.failed.catch(() => {});
    process.on('uncaughtException', this.#fail);
  }

  /**
   * Loads the module of `UWSRP_WS_MODULE` and opens the publish endpoint; undefined when there is no module.
   *
   * @throws UwsrpError CONFIG_INVALID when it cannot be loaded.
   */
  static async start(options: NativeOptions): Promise<Native | undefined> {
    const { wsModule } = options.config;
    if (wsModule === undefined) return undefined;
    const native = new Native(options);
    await native.#load(wsModule);
    return native;
  }

  /** Variables by which the command publishes. */
  get environment(): Readonly<Record<string, string>> {
    return this.#endpoint!.environment;
  }

  /** Resolves when what other instances publish can come, or it is clear that for now it cannot. */
  async whenJoined(): Promise<void> {
    await this.#pubSub?.whenTried();
  }

  /** Tells the module that a stop has begun. */
  startStop(): void {
    this.#stop.abort();
  }

  /** Nobody can publish any more. */
  close(): void {
    this.#endpoint!.close();
    this.#pubSub?.close();
    process.off('uncaughtException', this.#fail);
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
    if (config.pubsubUrl !== undefined) {
      this.#pubSub = await RedisPubSub.start({
        url: config.pubsubUrl,
        log,
        deliver: (message) => this.#publisher.deliver(message),
      });
      this.#publisher.join(this.#pubSub);
    }
    this.#endpoint = await PublishEndpoint.start({
      maxBytes: config.wsMaxMessageBytes,
      publish: (topic, message) => this.#publisher.publish(topic, message),
    });
    log.info({ routes: this.routes.routes.length }, `loaded ${path}`);
  }
}

function uncaught(error: unknown): UwsrpError {
  const what = error instanceof Error ? error.stack : String(error);
  return new UwsrpError('INTERNAL', `an error outside of a handler, most likely in UWSRP_WS_MODULE: ${what}`);
}
