import type { IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { type ClientOptions, type RawData, WebSocket } from 'ws';
import { withTimeout } from './timeout.ts';

export interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
  readonly text: string;
}

/** An open client connection. Messages are kept from the first byte on, so none is lost before it is asked for. */
export class TestWebSocket {
  readonly socket: WebSocket;
  /** The head of the 101. */
  readonly upgrade: IncomingMessage;
  /** 1005 when the close frame had no code, 1006 when there was no close frame. */
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #messages: Message[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(socket: WebSocket, upgrade: IncomingMessage, early: readonly Message[]) {
    this.socket = socket;
    this.upgrade = upgrade;
    this.#messages.push(...early);
    socket.removeAllListeners('message');
    socket.on('message', (data, isBinary) => {
      this.#messages.push(messageOf(data, isBinary));
      this.#wake?.();
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#isClosed = true;
        resolve({ code, reason: reason.toString() });
        this.#wake?.();
      });
    });
  }

  send(data: string | Buffer): void {
    this.socket.send(data);
  }

  async nextMessage(ms = 5000): Promise<Message> {
    while (this.#messages.length === 0) {
      if (this.#isClosed) throw new Error('the WebSocket closed before a message came');
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await withTimeout(news, 'a WebSocket message', ms);
    }
    return this.#messages.shift()!;
  }

  /** Sends a message and waits for the next one. */
  async exchange(data: string | Buffer, ms?: number): Promise<Message> {
    this.send(data);
    return this.nextMessage(ms);
  }

  /** Closes and waits until both sides did; gives the code and reason that came back. */
  async close(code?: number, reason?: string): Promise<{ code: number; reason: string }> {
    this.socket.close(code, reason);
    return withTimeout(this.closed, 'the close handshake');
  }
}

/** Opens a WebSocket (`ws://127.0.0.1:<port>/path`), or rejects with `Refused` when the server answers otherwise. */
export async function openWebSocket(
  t: TestContext,
  url: string,
  options: ClientOptions & { protocols?: string[] } = {},
): Promise<TestWebSocket> {
  const { protocols = [], ...rest } = options;
  const socket = new WebSocket(url, protocols, { perMessageDeflate: false, ...rest });
  t.after(() => socket.terminate());
  const early: Message[] = [];
  // A message can come with the bytes of the 101, before `open` was handled.
  socket.on('message', (data, isBinary) => early.push(messageOf(data, isBinary)));
  let upgrade: IncomingMessage | undefined;
  const opened = new Promise<TestWebSocket>((resolve, reject) => {
    socket.once('upgrade', (response) => {
      upgrade = response;
    });
    socket.once('open', () => resolve(new TestWebSocket(socket, upgrade!, early)));
    socket.once('unexpected-response', (_, response) => void readRefusal(response).then(reject, reject));
    socket.on('error', reject);
  });
  return withTimeout(opened, `the WebSocket ${url} to open`);
}

/** The answer to an upgrade that was refused. */
export class Refused extends Error {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: string;

  constructor(response: IncomingMessage, body: string) {
    super(`the upgrade was refused with ${response.statusCode}`);
    this.name = 'Refused';
    this.status = response.statusCode!;
    this.rawHeaders = response.rawHeaders;
    this.headers = response.headers;
    this.body = body;
  }
}

async function readRefusal(response: IncomingMessage): Promise<Refused> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return new Refused(response, Buffer.concat(chunks).toString());
}

function messageOf(data: RawData, isBinary: boolean): Message {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  return { data: bytes, isBinary, text: bytes.toString() };
}
