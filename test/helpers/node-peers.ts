import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import FayeWebSocket from 'faye-websocket';
import websocket, { type connection as WebSocketConnection } from 'websocket';
import { WebSocket } from 'ws';
import { type AppPeer, type ClientPeer, PeerSocket } from './peer.ts';
import { Queue } from './queue.ts';
import { withTimeout } from './timeout.ts';
import { startWebSocketApp } from './websocket-app.ts';

const PROTOCOL = 'second';
const NO_LIMIT = 2 ** 30;

/** npm `ws`. */
export const wsClient: ClientPeer = {
  name: 'ws',
  refusal: /403/,
  start:
    async (t) =>
    async (url, { protocols = [], compression = false } = {}) => {
      const socket = new WebSocket(url, [...protocols], { perMessageDeflate: compression });
      t.after(() => socket.terminate());
      const peer = new Promise<PeerSocket>((resolve, reject) => {
        // At `open` and not later: a message may come with the same bytes.
        socket.once('open', () => resolve(wsSocket(socket)));
        socket.on('error', reject);
      });
      return withTimeout(peer, `ws to open ${url}`);
    },
};

export const wsApp: AppPeer = {
  name: 'ws',
  async start(t) {
    const opened = new Queue<PeerSocket>('a socket of ws');
    const { port } = await startWebSocketApp(t, ({ socket }) => opened.push(wsSocket(socket)), {
      handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
      verifyClient: ({ req }, decide: (isAccepted: boolean, status?: number) => void) =>
        decide(req.url !== '/refused', 403),
    });
    return { port, opened };
  },
};

function wsSocket(socket: WebSocket): PeerSocket {
  const actions = {
    send: (data: string | Buffer) => socket.send(data),
    sendFragments(text: string) {
      for (const char of text) socket.send(char, { fin: false });
      socket.send('', { fin: true });
    },
    ping: () => socket.ping('ping'),
    close: (code: number, reason: string) => socket.close(code, reason),
  };
  const peer = new PeerSocket(actions, socket.protocol, socket.extensions);
  socket.on('message', (data: Buffer, isBinary) => peer.messages.push(isBinary ? data : data.toString()));
  socket.on('pong', () => peer.pongs.push());
  socket.on('close', (code, reason) => peer.closes.push({ code, reason: reason.toString() }));
  return peer;
}

/** npm `websocket`. */
const websocketLimits = { maxReceivedFrameSize: NO_LIMIT, maxReceivedMessageSize: NO_LIMIT };

export const websocketClient: ClientPeer = {
  name: 'websocket',
  refusal: /403/,
  start:
    async (t) =>
    async (url, { protocols = [] } = {}) => {
      const client = new websocket.client(websocketLimits);
      const peer = new Promise<PeerSocket>((resolve, reject) => {
        client.once('connect', (connection) => {
          t.after(() => connection.drop());
          resolve(websocketSocket(connection));
        });
        client.once('connectFailed', reject);
      });
      client.connect(url, [...protocols]);
      return withTimeout(peer, `websocket to open ${url}`);
    },
};

export const websocketApp: AppPeer = {
  name: 'websocket',
  async start(t) {
    const opened = new Queue<PeerSocket>('a socket of websocket');
    const httpServer = createServer();
    const server = new websocket.server({ httpServer, ...websocketLimits });
    server.on('request', (request) => {
      if (request.resource === '/refused') request.reject(403, 'refused');
      else opened.push(websocketSocket(request.accept(chosen(request.requestedProtocols))));
    });
    return { port: await listen(t, httpServer), opened };
  },
};

function websocketSocket(connection: WebSocketConnection): PeerSocket {
  const actions = {
    send: (data: string | Buffer) => connection.send(data),
    sendFragments(text: string) {
      const { fragmentationThreshold } = connection.config;
      connection.config.fragmentationThreshold = 1;
      connection.sendUTF(text);
      connection.config.fragmentationThreshold = fragmentationThreshold;
    },
    ping: () => connection.ping('ping'),
    close: (code: number, reason: string) => connection.close(code, reason),
  };
  const peer = new PeerSocket(actions, connection.protocol ?? '', connection.extensions.map(String).join());
  connection.on('message', (message) =>
    peer.messages.push(message.type === 'utf8' ? message.utf8Data : message.binaryData),
  );
  connection.on('pong', () => peer.pongs.push());
  connection.on('close', (code, reason) => peer.closes.push({ code, reason }));
  connection.on('error', () => {});
  return peer;
}

/** npm `faye-websocket`, which SockJS is built on. */
export const fayeClient: ClientPeer = {
  name: 'faye-websocket',
  refusal: /403/,
  start:
    async (t) =>
    async (url, { protocols = [] } = {}) => {
      const socket = new FayeWebSocket.Client(url, protocols);
      t.after(() => socket.close(1000, ''));
      const peer = new Promise<PeerSocket>((resolve, reject) => {
        socket.once('open', () => resolve(fayeSocket(socket)));
        socket.on('error', ({ message }: { message: string }) => reject(new Error(message)));
      });
      return withTimeout(peer, `faye-websocket to open ${url}`);
    },
};

export const fayeApp: AppPeer = {
  name: 'faye-websocket',
  async start(t) {
    const opened = new Queue<PeerSocket>('a socket of faye-websocket');
    const server = createServer();
    server.on('upgrade', (request, socket, head) => {
      if (request.url === '/refused') {
        socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\nrefused');
        return;
      }
      const faye = new FayeWebSocket(request, socket, head, [PROTOCOL]);
      faye.once('open', () => opened.push(fayeSocket(faye)));
    });
    return { port: await listen(t, server), opened };
  },
};

function fayeSocket(socket: FayeWebSocket): PeerSocket {
  const actions = {
    send: (data: string | Buffer) => void socket.send(data),
    ping: () => void socket.ping('ping', () => peer.pongs.push()),
    close: (code: number, reason: string) => socket.close(code, reason),
  };
  const peer = new PeerSocket(actions, socket.protocol);
  socket.on('message', ({ data }: { data: string | Buffer }) => peer.messages.push(data));
  socket.on('close', ({ code, reason }: { code: number; reason: string }) => peer.closes.push({ code, reason }));
  return peer;
}

function chosen(offered: readonly string[]): string | undefined {
  return offered.includes(PROTOCOL) ? PROTOCOL : undefined;
}

async function listen(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
