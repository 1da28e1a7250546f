import type { UpstreamTarget } from '../lib/upstream-target.ts';
import type { PublishHub } from '../native/publish-hub.ts';
import { uncaughtError } from '../native/uncaught-error.ts';
import type { Front } from './front.ts';
import type { ThreadFront, ThreadFrontOptions } from './thread-front.ts';

/**
 * The front in the thread that the service itself runs in. All that a request needs is loaded while the user's command
 * boots, not before it starts: that took a third of our share of a boot.
 */
export class SingleFront implements Front {
  readonly failed: Promise<never>;
  readonly #options: Omit<ThreadFrontOptions, 'publish'>;
  #loading: Promise<ThreadFront> | undefined;
  #thread: ThreadFront | undefined;
  #hub: PublishHub | undefined;
  #isDraining = false;
  #fail!: (error: unknown) => void;

  constructor(options: Omit<ThreadFrontOptions, 'publish'>) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = (error) => reject(uncaughtError(error));
    });
    this.failed.catch(() => {});
  }

  async load(): Promise<Readonly<Record<string, string>>> {
    const { config, log } = this.#options;
    if (config.wsModule === undefined) return {};
    process.on('uncaughtException', this.#fail);
    const [thread, { PublishHub }] = await Promise.all([this.#loadThread(), import('../native/publish-hub.ts')]);
    await thread.load();
    this.#hub = await PublishHub.start({ config, log, deliver: (message) => thread.deliver(message) });
    return this.#hub.environment;
  }

  prepare(): void {
    // A failure comes up in `listen`.
    this.#loadThread().catch(() => {});
  }

  async listen(target: UpstreamTarget): Promise<number | undefined> {
    const [thread] = await Promise.all([this.#loadThread(), this.#hub?.whenJoined()]);
    if (this.#isDraining) return undefined;
    const { host, port } = this.#options.config;
    return thread.listen(target, { host, port }, false);
  }

  startDrain(): void {
    this.#isDraining = true;
    this.#thread?.startDrain();
  }

  stopListening(): void {
    this.#thread?.stopListening();
  }

  closeWebSockets(): void {
    this.#thread?.closeWebSockets();
  }

  async whenIdle(): Promise<void> {
    await this.#thread?.whenIdle();
  }

  async drain(): Promise<void> {
    await this.#thread?.drain();
  }

  async close(): Promise<void> {
    await this.#thread?.close();
    this.#hub?.close();
    process.off('uncaughtException', this.#fail);
  }

  /** There is the service's own log alone. */
  reopenLogs(): void {}

  #loadThread(): Promise<ThreadFront> {
    this.#loading ??= this.#createThread();
    return this.#loading;
  }

  async #createThread(): Promise<ThreadFront> {
    const { ThreadFront } = await import('./thread-front.ts');
    this.#thread = new ThreadFront({ ...this.#options, publish: (message) => this.#hub?.send(message) });
    return this.#thread;
  }
}
