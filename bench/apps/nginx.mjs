// The app behind the proxies for everything that nginx can answer by itself: it costs the load's core the least.
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNginx } from '../lib/nginx.mjs';
import { freePort } from '../lib/ports.mjs';
import { temporaryFolder } from '../lib/temporary-folder.mjs';

export const DOWNLOAD_BYTES = 100 * 1024 * 1024;

/** Starts it; resolves with `{ port, socket, folder, requests, stop }`: the same answers on a port and on a unix socket. */
export async function startNginxApp() {
  const folder = temporaryFolder();
  for (const kilobytes of [10, 100]) writeFileSync(join(folder, `${kilobytes}kb.json`), json(kilobytes * 1024));
  const download = join(folder, '100mb');
  writeFileSync(download, '');
  truncateSync(download, DOWNLOAD_BYTES);
  const [port, socket] = [await freePort(), join(folder, 'app.socket')];
  const { stop } = await startNginx(
    `server {
       listen 127.0.0.1:${port} backlog=4096; listen unix:${socket} backlog=4096; root ${folder};
       default_type text/plain; types { application/json json; } open_file_cache max=10;
       client_max_body_size 0;
       location / { return 200 "hello, world\\n"; }
       location = /headers { ${answerHeaders()} return 200 "hello, world\\n"; }
       location = /status { stub_status; }
       location ~ ^/(10kb.json|100kb.json|100mb)$ { }
     }`,
    { opens: port },
  );
  /** How many requests it has answered, this one included. */
  const requests = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/status`)).text();
    return Number(/^ *\d+ +\d+ +(\d+)/m.exec(text)[1]);
  };
  return { port, socket, folder, requests, stop };
}

/** With Server, Date, Content-Type, Content-Length and Connection, which nginx sets, these make 20. */
function answerHeaders() {
  const cookies = ['session', 'theme', 'seen'].map((name) => [
    'Set-Cookie',
    `${name}=${'v'.repeat(40)}; Path=/; HttpOnly`,
  ]);
  const others = Array.from({ length: 12 }, (_, index) => [
    `X-Answer-${index}`,
    `value ${index} ${'abc'.repeat(index)}`,
  ]);
  return [...cookies, ...others].map(([name, value]) => `add_header ${name} "${value}";`).join(' ');
}

function json(bytes) {
  const rows = [];
  for (let id = 0, length = 2; length < bytes; id += 1) {
    const row = JSON.stringify({ id, name: `row ${id}`, isActive: id % 2 === 0, tags: ['one', 'two'] });
    rows.push(row);
    length += row.length + 1;
  }
  return `[${rows.join(',')}]`;
}
