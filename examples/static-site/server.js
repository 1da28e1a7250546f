import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import sirv from 'sirv';

const folder = fileURLToPath(new URL('public', import.meta.url));
const notFound = readFileSync(new URL('public/404.html', import.meta.url));

// Files are looked up once, at the start: no path of a request reaches the disk. A browser asks each time whether its copy
// is still good (maxAge 0), and is told so by 304. `gzip` sends the .gz beside a file, which the Dockerfile has made.
const site = sirv(folder, {
  etag: true,
  gzip: true,
  maxAge: 0,
  onNoMatch: (_request, response) => {
    response.writeHead(404, { 'Content-Type': 'text/html; charset=utf-8' }).end(notFound);
  },
});

// Only uwsrp, in the same container, has to reach this port.
const server = createServer(site).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

// Not `once`: a platform that signals every process, as Heroku does, signals this one twice, and the second must not kill.
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

/** Lets requests finish; then nothing keeps the process alive. */
function stop() {
  server.close();
}
