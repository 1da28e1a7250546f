import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { withTimeout } from './timeout.ts';

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** One WebSocket as the app has it. */
export class AppWebSocket {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** 1005 when the close frame had no code, 1006 when there was no close frame. */
  readonly closed: Promise<Closed>;
  readonly errors: Error[] = [];

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on('error', (error) => this.errors.push(error));
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }
}

export interface WebSocketApp {
  readonly port: number;
  readonly server: WebSocketServer;
  /** The next connection that was opened. */
  next(): Promise<AppWebSocket>;
}

/** An app made with `ws`: echoes, unless `onOpen` says otherwise. */
export async function startWebSocketApp(
  t: TestContext,
  onOpen: (ws: AppWebSocket) => void = echo,
  options: ServerOptions = {},
): Promise<WebSocketApp> {
  const http = createServer((_request, response) => response.end('http'));
  const server = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: 0, ...options });
  const opened: AppWebSocket[] = [];
  let wake: (() => void) | undefined;
  server.on('connection', (socket, request) => {
    const ws = new AppWebSocket(socket, request);
    opened.push(ws);
    onOpen(ws);
    wake?.();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    http.closeAllConnections();
    http.close();
  });
  const next = async () => {
    while (opened.length === 0) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await withTimeout(news, 'the app to get a WebSocket');
    }
    return opened.shift()!;
  };
  return { port: (http.address() as AddressInfo).port, server, next };
}

export function echo({ socket }: AppWebSocket): void {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

export function silent(): void {}
