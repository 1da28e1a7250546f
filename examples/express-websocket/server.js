import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { WebSocketServer } from 'ws';

const TICK_MS = 1000;

const app = express();
app.disable('x-powered-by');
app.use(express.static(fileURLToPath(new URL('public', import.meta.url))));

/** What this app saw of the request: the page shows it, so that you see what the proxy in front adds. */
app.get('/api/request', (request, response) => {
  const headers = [];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    headers.push([request.rawHeaders[at], request.rawHeaders[at + 1]]);
  }
  response.set('Cache-Control', 'no-store').json({
    headers,
    peer: request.socket.remoteAddress,
    port: request.socket.localPort,
    node: process.version,
    receivedAt: Date.now(),
  });
});

const clocks = new Set();
app.get('/api/clock', (_request, response) => {
  response.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  clocks.add(response);
  response.on('close', () => clocks.delete(response));
  tick(response);
});

const server = createServer(app);

const sockets = new WebSocketServer({ server, path: '/api/echo', maxPayload: 1024 * 1024 });
sockets.on('connection', (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  // A message over the limit ends its own connection, nothing else.
  socket.on('error', (error) => console.error(`websocket: ${error.message}`));
});

const ticking = setInterval(() => {
  for (const clock of clocks) tick(clock);
}, TICK_MS);

function tick(response) {
  response.write(`data: ${Date.now()}\n\n`);
}

// Only the proxy in front, in the same container, has to reach this port.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`the example listens on ${server.address().port}`);
});

// Not `once`: a platform that signals every process, as Heroku does, signals this one twice, and the second must not kill.
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

/** Ends what would stay open for ever, lets the rest finish; then nothing keeps the process alive. */
function stop() {
  clearInterval(ticking);
  for (const clock of clocks) clock.end();
  for (const socket of sockets.clients) socket.close(1001, 'the server stops');
  sockets.close();
  server.close();
}
