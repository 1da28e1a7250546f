import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { uncaughtError } from '../native/native.ts';
import { PublishHub } from '../native/publish-hub.ts';
import type { Front } from './front.ts';
import { ThreadFront, type ThreadFrontOptions } from './thread-front.ts';

/** The front in the thread that the service itself runs in. */
export class SingleFront implements Front {
  readonly failed: Promise<never>;
  readonly #options: Omit<ThreadFrontOptions, 'publish'>;
  readonly #thread: ThreadFront;
  #hub: PublishHub | undefined;
  #fail!: (error: unknown) => void;

  constructor(options: Omit<ThreadFrontOptions, 'publish'>) {
    this.#options = options;
    this.#thread = new ThreadFront({ ...options, publish: (message) => this.#hub?.send(message) });
    this.failed = new Promise((_, reject) => {
      this.#fail = (error) => reject(uncaughtError(error));
    });
    this.failed.catch(() => {});
  }

  async load(): Promise<Readonly<Record<string, string>>> {
    const { config, log } = this.#options;
    if (config.wsModule === undefined) return {};
    process.on('uncaughtException', this.#fail);
    await this.#thread.load();
    this.#hub = await PublishHub.start({ config, log, deliver: (message) => this.#thread.deliver(message) });
    return this.#hub.environment;
  }

  async listen(target: UpstreamTarget): Promise<number> {
    await this.#hub?.whenJoined();
    const { host, port } = this.#options.config;
    return this.#thread.listen(target, { host, port }, false);
  }

  startDrain(): void {
    this.#thread.startDrain();
  }

  stopListening(): void {
    this.#thread.stopListening();
  }

  closeWebSockets(): void {
    this.#thread.closeWebSockets();
  }

  whenIdle(): Promise<void> {
    return this.#thread.whenIdle();
  }

  drain(): Promise<void> {
    return this.#thread.drain();
  }

  async close(): Promise<void> {
    await this.#thread.close();
    this.#hub?.close();
    process.off('uncaughtException', this.#fail);
  }

  /** There is the service's own log alone. */
  reopenLogs(): void {}
}
