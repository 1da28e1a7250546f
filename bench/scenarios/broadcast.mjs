import { fileURLToPath } from 'node:url';
import { startUwsApp } from '../apps/uws.mjs';
import { FanOut } from '../lib/fan-out.mjs';
import { cpuAndRate, measureLoad } from '../lib/measure.mjs';
import { getHead, openMany, openSocket } from '../lib/raw-http.mjs';
import { clientFrame, openWebSocket, serverFrame } from '../lib/websocket-load.mjs';

const RECEIVERS = 500;
const NATIVE_RECEIVERS = 2000;
const READ_BYTES = 4096;
const GREETING = Buffer.from('hello'); // of apps/programs/uws.mjs
const MESSAGE = Buffer.alloc(64, 'uwsrp ');
const MARK = 0x40; // '@', once in each event of the app and nowhere else
const nativeModule = fileURLToPath(new URL('../apps/programs/native-broadcast.mjs', import.meta.url));

/** The app publishes a message to 500 relayed WebSockets. */
export const websocketBroadcast = {
  name: 'ws-broadcast',
  title: `WebSocket broadcast to ${RECEIVERS}, 64 B`,
  needs: 'websocket',
  startApp: startUwsApp,
  metrics: cpuAndRate('delivery'),
  round: (proxy, { seconds }) =>
    fanOutRound(proxy, seconds, {
      receivers: RECEIVERS,
      open: openSubscriber,
      publishAt: { port: proxy.app.port, path: '/publish' },
    }),
};

/**
 * A handler of uwsrp's own process publishes to its topic, beside proxies whose app does and which relay each message:
 * CPU of proxy and app together.
 */
export const websocketNativeBroadcast = {
  name: 'ws-native-broadcast',
  title: `WebSocket broadcast to ${NATIVE_RECEIVERS}, 64 B, native or proxy + app`,
  needs: 'websocket',
  startApp: startUwsApp,
  withApp: true,
  uwsrpModule: nativeModule,
  metrics: cpuAndRate('delivery'),
  // Through the proxy, where the handler is; for the others that is one message more for 2,000.
  round: (proxy, { seconds }) =>
    fanOutRound(proxy, seconds, {
      receivers: NATIVE_RECEIVERS,
      open: openSubscriber,
      publishAt: { port: proxy.port, path: '/publish' },
    }),
};

/** The app sends an event on 500 relayed event streams. */
export const eventStream = {
  name: 'sse-500',
  title: `server-sent events to ${RECEIVERS} clients`,
  needs: 'http',
  startApp: startUwsApp,
  metrics: cpuAndRate('delivery'),
  round: (proxy, { seconds }) =>
    fanOutRound(proxy, seconds, {
      receivers: RECEIVERS,
      open: openStream,
      publishAt: { port: proxy.app.port, path: '/publish-event' },
    }),
};

/** Each message to the WebSocket at `publishAt` comes to all receivers; opening the connections is not measured. */
async function fanOutRound(proxy, seconds, { receivers, open, publishAt }) {
  const order = clientFrame(MESSAGE);
  const publisher = await openWebSocket(publishAt.port, publishAt.path, { onBytes: () => {} });
  const sockets = [publisher];
  try {
    const fanOut = new FanOut({ receivers, send: () => publisher.write(order) });
    await openMany(receivers, sockets, () => open(proxy.port, fanOut));
    return await measureLoad(proxy, () => fanOut.run(seconds));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Resolves when the app's greeting has come: some proxies open the client's side before they have reached the app. */
async function openSubscriber(port, fanOut) {
  const length = serverFrame(MESSAGE).length;
  let toGreeting = serverFrame(GREETING).length;
  let received = 0;
  let greeted;
  const isGreeted = new Promise((resolve) => {
    greeted = resolve;
  });
  const socket = await openWebSocket(port, '/subscribe', {
    bufferBytes: READ_BYTES,
    onBytes(bytes) {
      const ofGreeting = Math.min(toGreeting, bytes.length);
      toGreeting -= ofGreeting;
      if (toGreeting === 0) greeted();
      const before = Math.floor(received / length);
      received += bytes.length - ofGreeting;
      fanOut.delivered(Math.floor(received / length) - before);
    },
    onEnd: (error) => fanOut.fail(error),
  });
  await isGreeted;
  return socket;
}

/** Resolves when the stream has had its first bytes. */
function openStream(port, fanOut) {
  return new Promise((resolve, reject) => {
    let head = '';
    let isOpen = false;
    const socket = openSocket(port, {
      bufferBytes: READ_BYTES,
      onBytes(bytes) {
        if (isOpen) {
          fanOut.delivered(countMarks(bytes));
          return;
        }
        head += bytes.toString('latin1');
        if (!head.includes(': hello\n\n')) return;
        isOpen = true;
        if (head.startsWith('HTTP/1.1 200')) resolve(socket);
        else reject(new Error(`no event stream: ${head}`));
      },
      onEnd: (error) => (isOpen ? fanOut.fail(error) : reject(error)),
    });
    socket.write(getHead('/events'));
  });
}

function countMarks(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at + 1)) count += 1;
  return count;
}
