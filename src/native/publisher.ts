import type { NativeApp, PublishedMessage } from './native-module.ts';

/** Publishes to the subscribers of this process. */
export class Publisher {
  readonly #app: Pick<NativeApp, 'publish'>;

  constructor(app: Pick<NativeApp, 'publish'>) {
    this.#app = app;
  }

  /** @throws TypeError for a topic or a message that cannot be sent. */
  publish(topic: string, message: PublishedMessage, isBinary = typeof message !== 'string'): void {
    if (typeof topic !== 'string' || topic === '')
      throw new TypeError('publish: a topic is a string that is not empty');
    this.#app.publish(topic, typeof message === 'string' ? message : bytesOf(message), isBinary);
  }
}

function bytesOf(message: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (message instanceof ArrayBuffer) return new Uint8Array(message);
  if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  throw new TypeError('publish: a message is a string or bytes');
}
