import type { NativeApp, PublishedMessage } from './native-module.ts';
import type { Message, PubSub } from './pub-sub.ts';

/** Publishes to the subscribers of this process, at once, and to those of others, where there is a way to them. */
export class Publisher {
  readonly #app: Pick<NativeApp, 'publish'>;
  #others: PubSub | undefined;

  constructor(app: Pick<NativeApp, 'publish'>) {
    this.#app = app;
  }

  /** From now on others hear what is published here. */
  join(others: PubSub): void {
    this.#others = others;
  }

  /** @throws TypeError for a topic or a message that cannot be sent. */
  publish(topic: string, message: PublishedMessage, isBinary = typeof message !== 'string'): void {
    if (typeof topic !== 'string' || topic === '')
      throw new TypeError('publish: a topic is a string that is not empty');
    const data = bytesOf(message);
    this.deliver({ topic, data, isBinary });
    this.#others?.send({ topic, data, isBinary });
  }

  /** To the subscribers of this process alone. */
  deliver({ topic, data, isBinary }: Message): void {
    this.#app.publish(topic, data, isBinary);
  }
}

function bytesOf(message: PublishedMessage): Uint8Array {
  if (typeof message === 'string') return Buffer.from(message);
  if (message instanceof ArrayBuffer) return new Uint8Array(message);
  if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  throw new TypeError('publish: a message is a string or bytes');
}
