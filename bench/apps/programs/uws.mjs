// GET / greets. WebSockets: /echo; /subscribe gets a greeting, then what is published; each message to /publish goes to
// the subscribers, each to /publish-event to the clients of GET /events. POST /upload answers with the number of bytes it
// got, POST /upload-slowly takes a piece each 100 ms.
import uWS from 'uWebSockets.js';

const MAX_MESSAGE_BYTES = 1024 * 1024;
const PAUSE_MS = 100;
const EVENT = `data: ${'e'.repeat(64)}@\n\n`;
const streams = new Set();
const sockets = { maxPayloadLength: MAX_MESSAGE_BYTES, maxBackpressure: 16 * MAX_MESSAGE_BYTES, idleTimeout: 0 };

const app = uWS
  .App()
  .get('/', (response) => response.end('hello, world\n'))
  .get('/events', (response) => {
    response.onAborted(() => streams.delete(response));
    // nginx holds small parts back unless it is told not to.
    response.writeHeader('Content-Type', 'text/event-stream').writeHeader('X-Accel-Buffering', 'no');
    response.write(': hello\n\n');
    streams.add(response);
  })
  .post('/upload', (response) => {
    let bytes = 0;
    response.onAborted(() => {});
    response.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (isLast) response.cork(() => response.end(String(bytes)));
    });
  })
  .post('/upload-slowly', (response) => {
    let isAborted = false;
    response.onAborted(() => {
      isAborted = true;
    });
    response.onData((_chunk, isLast) => {
      if (isLast) {
        response.cork(() => response.end());
        return;
      }
      response.pause();
      setTimeout(() => isAborted || response.resume(), PAUSE_MS);
    });
  })
  .ws('/echo', { ...sockets, message: (socket, message, isBinary) => socket.send(message, isBinary) })
  .ws('/subscribe', { ...sockets, open: greet, message: () => {} })
  .ws('/publish', { ...sockets, message: (_socket, message, isBinary) => app.publish('all', message, isBinary) })
  .ws('/publish-event', {
    ...sockets,
    message() {
      for (const response of streams) response.cork(() => response.write(EVENT));
    },
  });
app.listen('127.0.0.1', Number(process.env.PORT), (socket) => {
  if (!socket) throw new Error(`cannot listen on ${process.env.PORT}`);
});

function greet(socket) {
  socket.subscribe('all');
  socket.send('hello');
}
