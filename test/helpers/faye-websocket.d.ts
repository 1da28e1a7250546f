/** What the tests use of faye-websocket, which has no types. */
declare module 'faye-websocket' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage } from 'node:http';
  import type { Duplex } from 'node:stream';

  interface Options {
    readonly extensions?: readonly unknown[];
    readonly maxLength?: number;
  }

  class WebSocket extends EventEmitter {
    static isWebSocket(request: IncomingMessage): boolean;
    static Client: new (
      url: string,
      protocols: readonly string[],
      options?: Options,
    ) => WebSocket;
    readonly protocol: string;
    /** Of the answer to the handshake; a client's only. */
    readonly headers: Readonly<Record<string, string>>;
    constructor(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      protocols?: readonly string[],
      options?: Options,
    );
    send(data: string | Buffer): boolean;
    ping(message: string, onPong: () => void): boolean;
    close(code: number, reason: string): void;
  }

  export default WebSocket;
}
