import { DOWNLOAD_BYTES, startNginxApp } from '../apps/nginx.mjs';
import { startUwsApp } from '../apps/uws.mjs';
import { cpuAndRate, measureLoad } from '../lib/measure.mjs';
import { MEMORY_GROWTH, withGrowth } from '../lib/memory.mjs';
import { fetchWhole, getHead } from '../lib/raw-http.mjs';

const MEGABYTE = 1024 * 1024;
const PIECE = Buffer.alloc(256 * 1024, 'x');

/** 100 MB in one answer, one after the other over connections of their own. */
export const download = {
  name: 'download-100mb',
  title: '100 MB down',
  needs: 'http',
  startApp: startNginxApp,
  metrics: [...cpuAndRate('MB'), MEMORY_GROWTH],
  round: (proxy, { seconds }) =>
    transferRound(proxy, seconds, () => fetchWhole(proxy.port, { head: getHead('/100mb') })),
};

/** 100 MB in one request. */
export const upload = {
  name: 'upload-100mb',
  title: '100 MB up',
  needs: 'http',
  startApp: startUwsApp,
  metrics: [...cpuAndRate('MB'), MEMORY_GROWTH],
  round: (proxy, { seconds }) => transferRound(proxy, seconds, () => send(proxy.port)),
};

/** Whole transfers until the time is over, one at least. */
function transferRound(proxy, seconds, transfer) {
  return withGrowth(proxy, () =>
    measureLoad(proxy, async () => {
      const deadline = performance.now() + seconds * 1000;
      let bytes = 0;
      do {
        const moved = await transfer();
        if (moved !== DOWNLOAD_BYTES) throw new Error(`${moved} bytes in place of ${DOWNLOAD_BYTES}`);
        bytes += moved;
      } while (performance.now() < deadline);
      return bytes / MEGABYTE;
    }),
  );
}

async function send(port) {
  const head = `POST /upload HTTP/1.1\r\nHost: bench.example\r\nContent-Length: ${DOWNLOAD_BYTES}\r\n\r\n`;
  const answerBytes = await fetchWhole(port, {
    head,
    async body(socket) {
      for (let sent = 0; sent < DOWNLOAD_BYTES; sent += PIECE.length) {
        if (!socket.write(PIECE)) await socket.drained();
      }
    },
  });
  // The app answers with the number of bytes it got.
  return answerBytes === String(DOWNLOAD_BYTES).length ? DOWNLOAD_BYTES : answerBytes;
}
