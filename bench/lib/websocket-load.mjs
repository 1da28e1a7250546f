// WebSocket clients that cost next to nothing: masked frames prepared once, sent as they are; answers counted by length.
import { openSocket } from './raw-http.mjs';

const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
const BINARY = 0x82;

/** A masked binary frame of a client. */
export function clientFrame(payload) {
  const frame = Buffer.concat([frameHead(payload.length, 0x80), MASK, payload]);
  const start = frame.length - payload.length;
  for (let index = 0; index < payload.length; index += 1) frame[start + index] ^= MASK[index & 3];
  return frame;
}

/** The frame that a server sends for the same payload. */
export const serverFrame = (payload) => Buffer.concat([frameHead(payload.length, 0), payload]);

function frameHead(length, mark) {
  if (length < 126) return Buffer.from([BINARY, mark | length]);
  if (length > 0xffff) throw new Error(`no payload of ${length} bytes here`);
  return Buffer.from([BINARY, mark | 126, length >> 8, length & 0xff]);
}

const handshake = (path) =>
  `GET ${path} HTTP/1.1\r\nHost: bench.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';

/** Opens a WebSocket; resolves once it is open. From then on each read goes to `onBytes`. */
export function openWebSocket(port, path, { onBytes, onEnd, bufferBytes }) {
  return new Promise((resolve, reject) => {
    let head = '';
    let isOpen = false;
    const socket = openSocket(port, {
      bufferBytes,
      onBytes(bytes) {
        if (isOpen) return onBytes(bytes);
        head += bytes.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        if (!head.startsWith('HTTP/1.1 101')) {
          socket.destroy();
          reject(new Error(`no WebSocket: ${head.slice(0, 200)}`));
          return;
        }
        isOpen = true;
        resolve(socket);
        if (end + 4 < head.length) onBytes(Buffer.from(head.slice(end + 4), 'latin1'));
      },
      onEnd: (error) => (isOpen ? onEnd?.(error) : reject(error)),
    });
    socket.write(handshake(path));
  });
}

/**
 * Keeps `inFlight` messages on their way on each of some echoing WebSockets for a time; resolves with the number of
 * echoes. Each answer's head is looked at, and the whole of the first one on each connection.
 */
export async function echoLoad({ port, connections, inFlight, payloadBytes, seconds }) {
  const payload = Buffer.alloc(payloadBytes, 'uwsrp ');
  const frame = clientFrame(payload);
  const expected = serverFrame(payload);
  let echoes = 0;
  let isOver = false;
  let fail;
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});

  const sockets = [];
  for (let index = 0; index < connections; index += 1) {
    let first = Buffer.alloc(0);
    let offset = 0; // how much of the current echo has come
    const socket = await openWebSocket(port, '/echo', {
      bufferBytes: Math.max(32 * 1024, Math.min(256 * 1024, expected.length * inFlight)),
      onBytes(bytes) {
        if (first.length < expected.length) {
          first = Buffer.concat([first, bytes]);
          const compared = Math.min(first.length, expected.length);
          if (first.compare(expected, 0, compared, 0, compared) !== 0) fail(new Error('an echo is not what was sent'));
        }
        let whole = 0;
        let position = -offset;
        while (position + expected.length <= bytes.length) {
          if (position >= 0 && bytes[position] !== BINARY) fail(new Error('an echo is not a binary frame'));
          position += expected.length;
          whole += 1;
        }
        offset = bytes.length - position;
        echoes += whole;
        if (!isOver) sendEach(socket, frame, whole);
      },
      onEnd: (error) => fail(error),
    });
    sockets.push(socket);
  }
  try {
    for (const socket of sockets) sendEach(socket, frame, inFlight);
    await Promise.race([new Promise((resolve) => setTimeout(resolve, seconds * 1000)), failed]);
  } finally {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  }
  if (echoes === 0) throw new Error('no echo came back');
  return echoes;
}

/** Each message in a write of its own: messages that belong together would be one, so those of a real client come apart. */
function sendEach(socket, frame, count) {
  for (let sent = 0; sent < count; sent += 1) socket.write(frame);
}
