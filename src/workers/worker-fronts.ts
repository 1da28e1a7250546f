import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { claimPort, type PublicPort } from '../edge/public-port.ts';
import { UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import type { Message } from '../native/pub-sub.ts';
import type { PublishHub } from '../native/publish-hub.ts';
import type { Front } from './front.ts';
import { Worker, type WorkerOwner } from './worker.ts';

export interface WorkerFrontsOptions {
  readonly config: Config;
  readonly log: Logger;
}

/** So many replacements in this time, for each worker, are too many. */
const MAX_REPLACEMENTS = 5;
const REPLACEMENT_WINDOW_MS = 60_000;
/** How long workers may take to close what they have. */
const CLOSING_MS = 1000;

/**
 * The front in several threads (`UWSRP_WORKERS`). Each has its own event loop and listens on the same port, over which the kernel
 * spreads the connections. A worker that ends by an error is replaced.
 */
export class WorkerFronts implements Front, WorkerOwner {
  readonly failed: Promise<never>;
  readonly #options: WorkerFrontsOptions;
  readonly #workerConfig: Config;
  readonly #workers = new Set<Worker>();
  readonly #replacedAt: number[] = [];
  #loaded: Promise<unknown> | undefined;
  #place: { readonly target: UpstreamTarget; readonly port: PublicPort } | undefined;
  #hub: PublishHub | undefined;
  #isDraining = false;
  #isClosed = false;
  #fail!: (error: UwsrpError) => void;

  constructor(options: WorkerFrontsOptions) {
    this.#options = options;
    this.#workerConfig = shareOf(options.config);
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  async load(): Promise<Readonly<Record<string, string>>> {
    const { config, log } = this.#options;
    // Without a module nothing can be wrong with it, and the command need not wait.
    if (config.wsModule === undefined) return {};
    this.prepare();
    await this.#loaded;
    const { PublishHub } = await import('../native/publish-hub.ts');
    this.#hub = await PublishHub.start({ config, log, deliver: (message) => this.#deliver(message) });
    return this.#hub.environment;
  }

  prepare(): void {
    if (this.#loaded !== undefined) return;
    for (let number = 1; number <= this.#options.config.workers; number += 1) this.#start(number);
    this.#loaded = this.#each((worker) => worker.call('load'));
    // A failure comes up in `listen`.
    this.#loaded.catch(() => {});
  }

  async listen(target: UpstreamTarget): Promise<number | undefined> {
    this.prepare();
    await Promise.all([this.#loaded, this.#hub?.whenJoined()]);
    const { host, port } = this.#options.config;
    const place = { target, port: { host, port: await claimPort({ host, port }) } };
    // From here on workers are told in order: what a stop tells them comes behind the call to listen.
    if (this.#isDraining) return undefined;
    await this.#each((worker) => worker.call('listen', target, place.port, true));
    this.#place = place;
    return place.port.port;
  }

  startDrain(): void {
    this.#isDraining = true;
    this.#tell('startDrain');
  }

  stopListening(): void {
    this.#tell('stopListening');
  }

  closeWebSockets(): void {
    this.#tell('closeWebSockets');
  }

  async whenIdle(): Promise<void> {
    await this.#each((worker) => worker.call('whenIdle').catch(ended));
  }

  async drain(): Promise<void> {
    await this.#each((worker) => worker.call('drain').catch(ended));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#hub?.close();
    // One that is busy for ever must not keep the process.
    await Promise.race([this.#each((worker) => worker.call('close').catch(ended)), sleep(CLOSING_MS)]);
  }

  reopenLogs(): void {
    this.#tell('reopenLog');
  }

  onPublish(from: Worker, message: Message): void {
    this.#deliver(message, from);
    this.#hub?.send(message);
  }

  onEnd(worker: Worker, error: UwsrpError, isClean: boolean): void {
    this.#workers.delete(worker);
    if (this.#isClosed) return;
    const what = `worker ${worker.number} has ended: ${error.message}`;
    if (!isClean) {
      // Its sockets are still open, and nobody reads them.
      this.#fail(new UwsrpError('INTERNAL', what));
      return;
    }
    if (this.#place === undefined) {
      // The boot is not over: nobody is served yet whom another worker could serve.
      this.#fail(new UwsrpError('INTERNAL', what));
      return;
    }
    if (this.#isDraining) {
      this.#options.log.error(what);
      return;
    }
    const now = performance.now();
    this.#replacedAt.push(now);
    const recent = this.#replacedAt.filter((at) => now - at < REPLACEMENT_WINDOW_MS).length;
    if (recent > MAX_REPLACEMENTS * this.#options.config.workers) {
      this.#fail(new UwsrpError('INTERNAL', `${what}; so have ${recent - 1} others in the last minute`));
      return;
    }
    this.#options.log.error(`${what}; another one takes its place`);
    void this.#replace(worker.number);
  }

  async #replace(number: number): Promise<void> {
    const { target, port } = this.#place!;
    const worker = this.#start(number);
    try {
      await worker.call('load');
      if (this.#isDraining) return;
      await worker.call('listen', target, port, true);
      // The stop may have begun meanwhile, and was told before there was anything to stop.
      if (this.#isDraining) await worker.call('close');
      else this.#options.log.info(`worker ${number} serves again`);
    } catch (error) {
      // When it has ended again, `onEnd` was told.
      if (this.#workers.has(worker)) this.#fail(error as UwsrpError);
    }
  }

  #start(number: number): Worker {
    const worker = new Worker({ config: this.#workerConfig, worker: number }, this);
    this.#workers.add(worker);
    return worker;
  }

  #deliver(message: Message, except?: Worker): void {
    for (const worker of this.#workers) if (worker !== except) worker.deliver(message);
  }

  #tell(name: 'startDrain' | 'stopListening' | 'closeWebSockets' | 'reopenLog'): void {
    void this.#each((worker) => worker.call(name).catch(ended));
  }

  async #each(run: (worker: Worker) => Promise<unknown>): Promise<void> {
    await Promise.all([...this.#workers].map(run));
  }
}

/** A worker that ends has nothing left to wait for. */
function ended(): void {}

/** Limits of the process are divided among its threads. */
function shareOf(config: Config): Config {
  return {
    ...config,
    appConnections: Math.floor(config.appConnections / config.workers),
    keepAliveMax: Math.ceil(config.keepAliveMax / config.workers),
  };
}
