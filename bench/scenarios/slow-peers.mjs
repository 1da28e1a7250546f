import { DOWNLOAD_BYTES, startNginxApp } from '../apps/nginx.mjs';
import { startUwsApp } from '../apps/uws.mjs';
import { MEMORY_GROWTH, withGrowth } from '../lib/memory.mjs';
import { getHead, openSocket } from '../lib/raw-http.mjs';

const CLIENTS = 10;
const PIECE_BYTES = 64 * 1024;
const PIECE = Buffer.alloc(PIECE_BYTES, 'x');
const PAUSE_MS = 100;
const metrics = [MEMORY_GROWTH];

/** Clients that take their 100 MB at 640 KB a second, while the app could send it at once: what piles up in between? */
export const slowReaders = {
  name: 'slow-readers',
  title: `${CLIENTS} slow readers of 100 MB`,
  needs: 'http',
  startApp: startNginxApp,
  metrics,
  round: (proxy, { seconds }) => withGrowth(proxy, () => moveSlowly(proxy.port, seconds, readSlowly)),
};

/** Clients that could send their 100 MB at once, to an app that takes it slowly. */
export const slowApp = {
  name: 'slow-app',
  title: `${CLIENTS} uploads of 100 MB to a slow app`,
  needs: 'http',
  startApp: startUwsApp,
  metrics,
  round: (proxy, { seconds }) => withGrowth(proxy, () => moveSlowly(proxy.port, seconds, sendToSlowApp)),
};

/** Opens the clients, lets them go on for a time, and cuts them off. A connection that ends before fails the round. */
async function moveSlowly(port, seconds, start) {
  const sockets = [];
  let bytes = 0;
  const count = (length) => {
    bytes += length;
  };
  let fail;
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  try {
    for (let index = 0; index < CLIENTS; index += 1) sockets.push(start(port, count, fail));
    await Promise.race([new Promise((resolve) => setTimeout(resolve, seconds * 1000)), failed]);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  if (bytes < CLIENTS * PIECE_BYTES) throw new Error(`only ${bytes} bytes were moved for ${CLIENTS} clients`);
  return {};
}

function readSlowly(port, count, onEnd) {
  const socket = openSocket(port, {
    bufferBytes: PIECE_BYTES,
    onBytes(piece) {
      count(piece.length);
      setTimeout(() => socket.resume(), PAUSE_MS);
      return false;
    },
    onEnd,
  });
  socket.write(getHead('/100mb'));
  return socket;
}

/** Sends as fast as the proxy takes it, up to the whole body. */
function sendToSlowApp(port, count, onEnd) {
  const socket = openSocket(port, {
    onBytes: (bytes) => onEnd(new Error(`answered too early: ${bytes.toString('latin1', 0, 100)}`)),
    onEnd,
  });
  socket.write(`POST /upload-slowly HTTP/1.1\r\nHost: bench.example\r\nContent-Length: ${DOWNLOAD_BYTES}\r\n\r\n`);
  const send = async () => {
    for (let sent = 0; sent < DOWNLOAD_BYTES; sent += PIECE_BYTES) {
      const isTaken = socket.write(PIECE);
      count(PIECE_BYTES);
      if (!isTaken) await socket.drained();
    }
  };
  send().catch(onEnd);
  return socket;
}
