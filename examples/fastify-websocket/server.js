import { readFile } from 'node:fs/promises';
import websocket from '@fastify/websocket';
import fastify from 'fastify';

const LARGEST_MESSAGE = 1024 * 1024;

// uwsrp asks over loopback: what it says of the client (X-Forwarded-*) is believed, and what others say is not. The id that
// it gives each request is that of the log, too.
const app = fastify({
  logger: { level: 'warn' },
  trustProxy: 'loopback',
  requestIdHeader: 'x-request-id',
});
await app.register(websocket, { options: { maxPayload: LARGEST_MESSAGE } });

const page = await readFile(new URL('index.html', import.meta.url));
app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));

app.get('/request', (request, reply) => {
  reply.header('Cache-Control', 'no-store');
  return {
    scheme: request.protocol,
    host: request.host,
    client: request.ip,
    id: request.id,
    server: `Node ${process.versions.node}, Fastify ${app.version}`,
  };
});

app.get('/echo', { websocket: true }, (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

// Only uwsrp, in the same container, has to reach this port.
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });

// Not `once`: a platform that signals every process, as Heroku does, signals this one twice, and the second must not kill.
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

/** Ends WebSockets and lets requests finish; then nothing keeps the process alive. */
function stop() {
  app.close();
}
