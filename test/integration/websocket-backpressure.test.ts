import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { BINARY, CLOSE, PING, TEXT } from '../../src/upstream/websocket-frame.ts';
import { settled } from '../helpers/settled.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { openWebSocket } from '../helpers/websocket.ts';
import { silent, startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame, closePayload, frame } from '../helpers/websocket-frames.ts';
import { connectFrames, startFramesApp } from '../helpers/websocket-peer.ts';
import { startWebSocketProxy } from '../helpers/websocket-proxy.ts';

const MIB = 1024 * 1024;

/** What the kernel's buffers of both hops may hold, with much to spare. */
const KERNEL_BYTES = 48 * MIB;

test('a slow client holds the app back, and gets every byte in the end', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.pause();
  const sent = createHash('sha256');
  let sentBytes = 0;
  let isDone = false;
  const total = 100;
  const sending = (async () => {
    for (let index = 0; index < total; index++) {
      const message = frame(BINARY, Buffer.alloc(MIB, index));
      sent.update(message);
      sentBytes += message.length;
      await connection.connection.sendAndFlush(message);
    }
    isDone = true;
  })();
  await settled(() => sentBytes);
  assert.equal(isDone, false, 'the app was not held back');
  assert.ok(sentBytes < KERNEL_BYTES, `${sentBytes} bytes went into a client that reads nothing`);
  const received = createHash('sha256');
  const wanted = total * (MIB + 10);
  let receivedBytes = 0;
  const all = new Promise<void>((resolve) => {
    client.drainTo((chunk) => {
      if (receivedBytes < wanted) received.update(chunk);
      receivedBytes += chunk.length;
      if (receivedBytes === wanted) resolve();
    });
  });
  client.resume();
  await withTimeout(sending, 'the app to send all', 30_000);
  await withTimeout(all, 'the client to get all', 30_000);
  assert.equal(received.digest('hex'), sent.digest('hex'));
  client.send(clientFrame(CLOSE, closePayload(1000)));
  assert.deepEqual((await connection.readFrame()).opcode, CLOSE);
});

test('a slow app holds the client back, and gets every message in the end', async (t) => {
  const app = await startWebSocketApp(t, silent);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const { socket } = await app.next();
  const total = 100;
  let received = 0;
  const all = new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const isRight = data.length === MIB && data[0] === received && data[MIB - 1] === received;
      if (!isRight) reject(new Error(`message ${received} is wrong`));
      received += 1;
      if (received === total) resolve();
    });
  });
  socket.pause();
  let sentBytes = 0;
  let isDone = false;
  const sending = (async () => {
    for (let index = 0; index < total; index++) {
      const message = clientFrame(BINARY, Buffer.alloc(MIB, index));
      sentBytes += message.length;
      await client.sendAndFlush(message);
    }
    isDone = true;
  })();
  await settled(() => sentBytes);
  assert.equal(isDone, false, 'the client was not held back');
  assert.ok(sentBytes < KERNEL_BYTES, `${sentBytes} bytes went into an app that reads nothing`);
  socket.resume();
  await withTimeout(all, () => `message ${received} of ${total}`, 20_000);
  await withTimeout(sending, 'the client to have sent all');
});

test('a client that is held back still gets what the app sends, and its pings are answered when it is not', async (t) => {
  const app = await startWebSocketApp(t, silent);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const { socket } = await app.next();
  socket.pause();
  for (let index = 0; index < 30; index++) client.send(clientFrame(BINARY, Buffer.alloc(MIB, index)));
  client.send(clientFrame(PING, 'at last'));
  await settled(() => client.socket.writableLength);
  assert.ok(client.socket.writableLength > 0, 'the client was not held back');
  const news = frame(TEXT, 'news');
  socket.send('news');
  assert.deepEqual(await client.readExactly(news.length), news);
  socket.resume();
  assert.equal((await client.readExactly(9, 10_000)).toString('latin1', 2), 'at last');
});

test('a held client that is lost, and a slow app that is lost, free everything', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { closeTimeoutMs: 200 });
  for (const lost of ['client', 'app']) {
    const client = await connectFrames(t, proxy.port);
    const connection = await app.next();
    connection.connection.pause();
    for (let index = 0; index < 30; index++) client.send(clientFrame(BINARY, Buffer.alloc(MIB)));
    await settled(() => client.socket.bytesWritten - client.socket.writableLength);
    if (lost === 'client') {
      client.reset();
      connection.connection.resume();
      await connection.connection.closed;
    } else {
      connection.connection.reset();
      await client.readToEnd();
    }
    await withTimeout(proxy.relays.whenEmpty(), `the end of the relay without its ${lost}`);
  }
});

test('an app that crashes while a client is behind: the client gets what was sent before', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.pause();
  for (let index = 0; index < 8; index++)
    await connection.connection.sendAndFlush(frame(BINARY, Buffer.alloc(MIB, index)));
  connection.connection.end();
  client.resume();
  const bytes = await client.readToEnd(20_000);
  assert.equal(bytes.length, 8 * (MIB + 10));
  await proxy.relays.whenEmpty();
});

test('an app that pings without end and reads no pong is closed with 1013, as is the client', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { maxBacklogBytes: MIB, closeTimeoutMs: 200 });
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  connection.connection.pause();
  const pings = Buffer.concat(Array(1000).fill(frame(PING, Buffer.alloc(125))));
  void (async () => {
    for (let index = 0; index < 1000; index++) await connection.connection.sendAndFlush(pings);
  })().catch(() => {});
  const answer = await client.readToEnd(10_000);
  assert.deepEqual(answer, frame(CLOSE, closePayload(1013, 'the application reads too slowly')));
  await withTimeout(proxy.relays.whenEmpty(), 'the end of the relay');
  assert.match(proxy.logged[0]!, /the application reads too slowly/);
});

test('one slow client does not hold up another', async (t) => {
  const app = await startWebSocketApp(t, silent);
  const proxy = await startWebSocketProxy(t, app.port);
  const slow = await connectFrames(t, proxy.port);
  const { socket: toSlow } = await app.next();
  slow.pause();
  for (let index = 0; index < 40; index++) toSlow.send(Buffer.alloc(MIB));
  const quick = await openWebSocket(t, proxy.url);
  const { socket: toQuick } = await app.next();
  toQuick.on('message', (data) => toQuick.send(data));
  for (let index = 0; index < 100; index++) assert.equal((await quick.exchange(Buffer.from([index]))).data[0], index);
});
