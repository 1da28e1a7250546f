import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { Server } from 'socket.io';

const LONGEST_TEXT = 500;

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
    server: `Node ${process.versions.node}, Express`,
  });
});

const server = createServer(app);
const io = new Server(server);

io.on('connection', (socket) => {
  io.emit('people', io.sockets.sockets.size);
  socket.on('disconnect', () => io.emit('people', io.sockets.sockets.size));
  socket.on('say', (text) => {
    if (typeof text === 'string') io.emit('said', { from: socket.id.slice(0, 4), text: text.slice(0, LONGEST_TEXT) });
  });
});

// Only uwsrp, in the same container, has to reach this port.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

// Not `once`: a platform that signals every process, as Heroku does, signals this one twice, and the second must not kill.
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

/** Ends the connections of Socket.IO and lets requests finish; then nothing keeps the process alive. */
function stop() {
  io.close();
}
