import { fileURLToPath } from 'node:url';
import { startNginxApp } from '../apps/nginx.mjs';
import { startUwsApp } from '../apps/uws.mjs';
import { settledBytes } from '../lib/memory.mjs';
import { getHead, openMany, openSocket } from '../lib/raw-http.mjs';
import { openWebSocket } from '../lib/websocket-load.mjs';

const READ_BYTES = 1024;
const nativeModule = fileURLToPath(new URL('../apps/programs/native-echo.mjs', import.meta.url));
const metrics = [
  { key: 'idle', label: 'MB RSS before' },
  { key: 'anonymous', label: 'MB of that not of files' },
  { key: 'with', label: 'MB RSS with them' },
  { key: 'each', label: 'KB RSS per connection' },
];

const idle = ({ connections, ...scenario }, open) => ({
  ...scenario,
  metrics,
  // What one round has grown, the next would find grown: each starts with new processes, and a few are enough.
  isFresh: true,
  mostRounds: 3,
  round: (proxy) => memoryRound(proxy, connections, open),
});

/** Clients that a router or a browser keeps: each had one answer, and waits. */
export const idleConnections = idle(
  {
    name: 'idle-10000',
    title: '10,000 idle client connections',
    needs: 'http',
    startApp: startNginxApp,
    connections: 10_000,
  },
  openAfterAnswer,
);

/** WebSockets without traffic, each with its connection to the app. */
export const idleWebSockets = idle(
  {
    name: 'idle-ws-5000',
    title: '5,000 idle WebSockets',
    needs: 'websocket',
    startApp: startUwsApp,
    connections: 5000,
  },
  openIdleWebSocket,
);

/** The same in a handler of uwsrp's own process, beside proxies with an app: memory of proxy and app together. */
export const idleNativeWebSockets = idle(
  {
    name: 'idle-ws-native-5000',
    title: '5,000 idle WebSockets, native or proxy + app',
    needs: 'websocket',
    startApp: startUwsApp,
    connections: 5000,
    withApp: true,
    uwsrpModule: nativeModule,
  },
  openIdleWebSocket,
);

async function memoryRound(proxy, connections, open) {
  const sockets = [];
  let failure;
  const onEnd = (error) => {
    failure ??= error;
  };
  try {
    await openMany(connections, sockets, () => open(proxy.port, onEnd));
    const bytes = await settledBytes(proxy.pids);
    if (failure) throw failure;
    return {
      idle: proxy.idleBytes / 1024 ** 2,
      anonymous: proxy.idleAnonymousBytes / 1024 ** 2,
      with: bytes / 1024 ** 2,
      each: (bytes - proxy.idleBytes) / connections / 1024,
    };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function openIdleWebSocket(port, onEnd) {
  return openWebSocket(port, '/echo', { bufferBytes: READ_BYTES, onBytes: () => {}, onEnd });
}

function openAfterAnswer(port, onEnd) {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const socket = openSocket(port, {
      bufferBytes: READ_BYTES,
      onBytes(bytes) {
        isAnswered = true;
        if (bytes.toString('latin1').startsWith('HTTP/1.1 200')) resolve(socket);
        else reject(new Error(`not answered with 200: ${bytes}`));
      },
      onEnd: (error) => (isAnswered ? onEnd(error) : reject(error)),
    });
    socket.write(getHead('/'));
  });
}
