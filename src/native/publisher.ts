import type { NativeApp, PublishedMessage } from './native-module.ts';
import type { Message, PubSub } from './pub-sub.ts';

/** Publishes to the subscribers of this thread, at once, and to those of others, where there is a way to them. */
export class Publisher {
  readonly #app: Pick<NativeApp, 'publish'>;
  #others: Pick<PubSub, 'send'> | undefined;

  constructor(app: Pick<NativeApp, 'publish'>) {
    this.#app = app;
  }

  /** From now on others hear what is published here. */
  join(others: Pick<PubSub, 'send'>): void {
    this.#others = others;
  }

  /** @throws TypeError for a topic or a message that cannot be sent. */
  publish(topic: string, message: PublishedMessage, isBinary?: boolean): void {
    const whole = messageOf(topic, message, isBinary);
    this.deliver(whole);
    this.#others?.send(whole);
  }

  /** To the subscribers of this thread alone. */
  deliver({ topic, data, isBinary }: Message): void {
    this.#app.publish(topic, data, isBinary);
  }
}

/** @throws TypeError for a topic or a message that cannot be sent. */
export function messageOf(topic: string, message: PublishedMessage, isBinary = typeof message !== 'string'): Message {
  if (typeof topic !== 'string' || topic === '') throw new TypeError('publish: a topic is a string that is not empty');
  return { topic, data: bytesOf(message), isBinary };
}

function bytesOf(message: PublishedMessage): Uint8Array {
  if (typeof message === 'string') return Buffer.from(message);
  if (message instanceof ArrayBuffer) return new Uint8Array(message);
  if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  throw new TypeError('publish: a message is a string or bytes');
}
