import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { BINARY, CONTINUATION, PING, PONG, TEXT } from '../../src/upstream/websocket-frame.ts';
import { Random } from '../helpers/random.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { openWebSocket } from '../helpers/websocket.ts';
import { silent, startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame, frame } from '../helpers/websocket-frames.ts';
import { connectFrames, startFramesApp } from '../helpers/websocket-peer.ts';
import { startWebSocketProxy } from '../helpers/websocket-proxy.ts';

test('text and binary of every size come back as they were sent', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const ws = await openWebSocket(t, proxy.url);
  for (const size of [0, 1, 125, 126, 127, 16_383, 32_768, 65_535, 65_536, 1 << 20, 16 << 20]) {
    const data = Buffer.alloc(size, `${size} `);
    const answer = await ws.exchange(data, 20_000);
    assert.equal(answer.isBinary, true);
    assert.ok(answer.data.equals(data), `${size} bytes`);
  }
  for (const text of ['', 'a', 'é€😀', '\u0000', 'x'.repeat(100_000)]) {
    const answer = await ws.exchange(text);
    assert.deepEqual([answer.isBinary, answer.text === text], [false, true]);
  }
});

test('10,000 numbered messages each way keep their order and type', async (t) => {
  const count = 10_000;
  const sizeOf = (random: Random) => (random.chance(0.02) ? random.between(0, 100_000) : random.between(0, 300));
  const messageOf = (index: number, size: number) => Buffer.from(`${index} ${'.'.repeat(size)}`);
  const send = (socket: { send(data: Buffer, options: { binary: boolean }): void }) => {
    const random = new Random(7);
    for (let index = 0; index < count; index++) {
      socket.send(messageOf(index, sizeOf(random)), { binary: index % 3 === 0 });
    }
  };
  const receive = (socket: { on(event: 'message', each: (data: Buffer, isBinary: boolean) => void): unknown }) => {
    const random = new Random(7);
    let index = 0;
    return new Promise<void>((resolve, reject) => {
      socket.on('message', (data, isBinary) => {
        const expected = messageOf(index, sizeOf(random));
        if (!data.equals(expected) || isBinary !== (index % 3 === 0)) reject(new Error(`message ${index} is wrong`));
        index += 1;
        if (index === count) resolve();
      });
    });
  };
  let received: Promise<void> | undefined;
  const app = await startWebSocketApp(t, ({ socket }) => {
    received = receive(socket);
    send(socket);
  });
  const proxy = await startWebSocketProxy(t, app.port);
  const ws = await openWebSocket(t, proxy.url);
  // What came before the listener is with the helper; it is asked for one by one.
  const random = new Random(7);
  send(ws.socket);
  for (let index = 0; index < count; index++) {
    const { data, isBinary } = await ws.nextMessage(20_000);
    assert.ok(data.equals(messageOf(index, sizeOf(random))), `message ${index}`);
    assert.equal(isBinary, index % 3 === 0);
  }
  await withTimeout(received!, 'all messages at the app', 20_000);
});

test("a client's message in fragments is one message at the app, and its ping in between is answered at once", async (t) => {
  const app = await startWebSocketApp(t, silent);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const { socket } = await app.next();
  const message = once(socket, 'message');
  client.send(clientFrame(TEXT, 'one, ', { isFinal: false }));
  client.send(clientFrame(PING, 'are you there'));
  assert.deepEqual(await client.readExactly(15), frame(PONG, 'are you there'));
  client.send(clientFrame(CONTINUATION, 'two, ', { isFinal: false }));
  client.send(clientFrame(CONTINUATION, 'three'));
  const [data, isBinary] = await message;
  assert.deepEqual([`${data}`, isBinary], ['one, two, three', false]);
});

test("the app's message in fragments is one message at the client, and its ping in between is answered at once", async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const ws = await openWebSocket(t, proxy.url);
  const connection = await app.next();
  connection.send(frame(BINARY, 'one, ', { isFinal: false }));
  connection.send(frame(PING, 'are you there'));
  assert.deepEqual(await connection.readFrame(), { opcode: PONG, payload: Buffer.from('are you there') });
  connection.send(frame(CONTINUATION, 'two, ', { isFinal: false }));
  connection.send(frame(CONTINUATION, 'three'));
  const { text, isBinary } = await ws.nextMessage();
  assert.deepEqual([text, isBinary], ['one, two, three', true]);
});

test('a thousand frames of one byte, from either side, are one message', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  const fragments = (make: typeof frame) =>
    Buffer.concat([
      make(BINARY, 'a', { isFinal: false }),
      ...Array.from({ length: 998 }, () => make(CONTINUATION, 'b', { isFinal: false })),
      make(CONTINUATION, 'c'),
    ]);
  const whole = `a${'b'.repeat(998)}c`;
  client.send(fragments(clientFrame));
  assert.deepEqual(await connection.readFrame(), { opcode: BINARY, payload: Buffer.from(whole) });
  connection.send(fragments(frame));
  assert.deepEqual(await client.readExactly(1004), frame(BINARY, whole));
});

test('pings and pongs of one side do not reach the other, and pongs that nobody asked for are ignored', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.send(Buffer.concat([clientFrame(PONG, 'x'), clientFrame(PING, 'client'), clientFrame(TEXT, 'after')]));
  assert.deepEqual(await client.readExactly(8), frame(PONG, 'client'));
  assert.deepEqual(await connection.readFrame(), { opcode: TEXT, payload: Buffer.from('after') });
  connection.send(Buffer.concat([frame(PONG, 'x'), frame(PING, 'app'), frame(TEXT, 'after')]));
  assert.deepEqual(await connection.readFrame(), { opcode: PONG, payload: Buffer.from('app') });
  assert.deepEqual(await client.readExactly(7), frame(TEXT, 'after'));
});

test('messages that come together leave together, on both hops', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const peer = await connectFrames(t, proxy.port);
  const connection = await app.next();
  const many = (make: typeof frame) => Buffer.concat(Array.from({ length: 50 }, (_, index) => make(TEXT, `m${index}`)));
  const reads: number[] = [];
  peer.drainTo((chunk) => reads.push(chunk.length));
  const bytes = many(frame);
  connection.send(bytes);
  while (reads.reduce((sum, length) => sum + length, 0) < bytes.length) await once(peer.socket, 'data');
  assert.equal(reads.length, 1, 'one write to the client');
  peer.send(many(clientFrame));
  for (let index = 0; index < 50; index++) {
    assert.equal((await connection.readFrame()).payload.toString(), `m${index}`);
  }
});
