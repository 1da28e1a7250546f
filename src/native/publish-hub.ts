import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Message, PubSub } from './pub-sub.ts';
import { PublishEndpoint } from './publish-endpoint.ts';
import { messageOf } from './publisher.ts';
import { RedisPubSub } from './redis-pub-sub.ts';

export interface PublishHubOptions {
  readonly config: Pick<Config, 'pubsubUrl' | 'wsMaxMessageBytes'>;
  readonly log: Logger;
  /** To the subscribers of this process, in all its threads. */
  deliver(message: Message): void;
}

/** What is published from outside of the module: by the command, and on other instances. One for a process. */
export class PublishHub {
  readonly #endpoint: PublishEndpoint;
  readonly #instances: PubSub | undefined;

  private constructor(endpoint: PublishEndpoint, instances: PubSub | undefined) {
    this.#endpoint = endpoint;
    this.#instances = instances;
  }

  static async start({ config, log, deliver }: PublishHubOptions): Promise<PublishHub> {
    const { pubsubUrl, wsMaxMessageBytes: maxBytes } = config;
    const instances = pubsubUrl === undefined ? undefined : await RedisPubSub.start({ url: pubsubUrl, log, deliver });
    const endpoint = await PublishEndpoint.start({
      maxBytes,
      publish(topic, message) {
        const whole = messageOf(topic, message);
        deliver(whole);
        instances?.send(whole);
      },
    });
    return new PublishHub(endpoint, instances);
  }

  /** Variables by which the command publishes. */
  get environment(): Readonly<Record<string, string>> {
    return this.#endpoint.environment;
  }

  /** Resolves when what other instances publish can come, or it is clear that for now it cannot. */
  async whenJoined(): Promise<void> {
    await this.#instances?.whenTried();
  }

  /** To other instances. */
  send(message: Message): void {
    this.#instances?.send(message);
  }

  /** Nobody can publish any more. */
  close(): void {
    this.#endpoint.close();
    this.#instances?.close();
  }
}
