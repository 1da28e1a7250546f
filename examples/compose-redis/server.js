import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createAdapter } from '@socket.io/redis-adapter';
import express from 'express';
import { createClient } from 'redis';
import { Server } from 'socket.io';

/** In Docker, the first letters of the container's id. */
const INSTANCE = hostname();

const redis = createClient({ url: process.env.REDIS_URL });
// A connection that subscribes can do nothing else.
const subscriber = redis.duplicate();
for (const client of [redis, subscriber]) client.on('error', report);
await Promise.all([redis.connect(), subscriber.connect()]);

const app = express();
app.disable('x-powered-by');
// uwsrp asks over loopback: what it says of the client (X-Forwarded-*) is believed, and what others say is not.
app.set('trust proxy', 'loopback');

app.get('/', (_request, response) => response.sendFile(fileURLToPath(new URL('index.html', import.meta.url))));

app.get('/request', (request, response) => {
  response.set('Cache-Control', 'no-store').json({
    scheme: request.protocol,
    host: request.host,
    client: request.ip,
    id: request.get('X-Request-Id'),
    server: `Node ${process.versions.node}, Express, instance ${INSTANCE}`,
  });
});

const server = createServer(app);
// Long polling would need a router that sends all requests of one visitor to the same instance.
const io = new Server(server, { adapter: createAdapter(redis, subscriber), transports: ['websocket'] });

io.on('connection', (socket) => {
  tell(socket).catch(report);
  socket.on('add', () => add().catch(report));
});

async function tell(socket) {
  socket.emit('count', { count: Number(await redis.get('count')) });
}

/** Reaches the visitors of all instances, by way of the adapter. */
async function add() {
  io.emit('count', { count: await redis.incr('count'), by: INSTANCE });
}

function report(error) {
  console.error(`redis: ${error.message}`);
}

// Only uwsrp, in the same container, has to reach this port.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

process.on('SIGTERM', stop);
process.on('SIGINT', stop);

let isStopping = false;

/** Ends the connections of Socket.IO, lets requests finish, and then leaves Redis; nothing keeps the process alive. */
async function stop() {
  // A platform that signals every process, as Heroku does, signals this one twice.
  if (isStopping) return;
  isStopping = true;
  await io.close();
  await Promise.all([redis.close(), subscriber.close()]);
}
