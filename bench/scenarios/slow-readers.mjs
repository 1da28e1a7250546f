import { startNginxApp } from '../apps/nginx.mjs';
import { MEMORY_GROWTH, withGrowth } from '../lib/memory.mjs';
import { getHead, openSocket } from '../lib/raw-http.mjs';

const READERS = 50;
const PIECE_BYTES = 64 * 1024;
const PAUSE_MS = 100;

/** Clients that take their 100 MB at 640 KB a second, while the app could send it at once: what piles up in between? */
export const slowReaders = {
  name: 'slow-readers',
  title: `${READERS} slow readers of 100 MB`,
  needs: 'http',
  startApp: startNginxApp,
  metrics: [MEMORY_GROWTH],
  round: (proxy, { seconds }) => withGrowth(proxy, () => readSlowly(proxy.port, seconds)),
};

async function readSlowly(port, seconds) {
  const sockets = [];
  let fail;
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  let bytes = 0;
  try {
    for (let index = 0; index < READERS; index += 1) {
      const socket = openSocket(port, {
        bufferBytes: PIECE_BYTES,
        onBytes(piece) {
          bytes += piece.length;
          setTimeout(() => socket.resume(), PAUSE_MS);
          return false;
        },
        onEnd: (error) => fail(error),
      });
      sockets.push(socket);
      socket.write(getHead('/100mb'));
    }
    await Promise.race([new Promise((resolve) => setTimeout(resolve, seconds * 1000)), failed]);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  if (bytes < READERS * PIECE_BYTES) throw new Error(`only ${bytes} bytes came to ${READERS} readers`);
  return {};
}
