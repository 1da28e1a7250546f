import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BINARY, CLOSE, CONTINUATION, PING, TEXT } from '../../src/upstream/websocket-frame.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { openWebSocket } from '../helpers/websocket.ts';
import { silent, startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame, closePayload, frame } from '../helpers/websocket-frames.ts';
import { connectFrames, startFramesApp } from '../helpers/websocket-peer.ts';
import { startWebSocketProxy } from '../helpers/websocket-proxy.ts';

const MAX = 1024 * 1024;

const BY_APP: readonly [what: string, bytes: Buffer, toApp: number, toClient: number][] = [
  ['a reserved bit', frame(TEXT, 'a', { reserved: 0x40 }), 1002, 1011],
  ['opcode 3', frame(3, 'a'), 1002, 1011],
  ['opcode 11', frame(11, ''), 1002, 1011],
  ['a masked frame', frame(TEXT, 'a', { isMasked: true }), 1002, 1011],
  ['a fragmented ping', frame(PING, 'a', { isFinal: false }), 1002, 1011],
  ['a ping of 126 bytes', frame(PING, Buffer.alloc(126)), 1002, 1011],
  ['a continuation without a beginning', frame(CONTINUATION, 'a'), 1002, 1011],
  ['text that is not UTF-8', frame(TEXT, Buffer.from([0xff])), 1007, 1011],
  ['close code 999', frame(CLOSE, closePayload(999)), 1002, 1011],
  ['close code 1006', frame(CLOSE, closePayload(1006)), 1002, 1011],
  ['a close of one byte', frame(CLOSE, 'a'), 1002, 1011],
  ['a close reason that is not UTF-8', frame(CLOSE, closePayload(1000, Buffer.from([0xff]))), 1007, 1011],
  ['a message of one byte over the limit', frame(BINARY, Buffer.alloc(MAX + 1)).subarray(0, 10), 1009, 1009],
];

for (const [what, bytes, toApp, toClient] of BY_APP) {
  test(`the app sends ${what}: it is told ${toApp}, and the client ${toClient}`, async (t) => {
    const app = await startFramesApp(t);
    const proxy = await startWebSocketProxy(t, app.port, { maxMessageBytes: MAX });
    const client = await connectFrames(t, proxy.port);
    const connection = await app.next();
    connection.send(Buffer.concat([frame(TEXT, 'before'), bytes]));
    assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: closePayload(toApp) });
    const expected = Buffer.concat([frame(TEXT, 'before'), frame(CLOSE, closePayload(toClient))]);
    assert.deepEqual(await client.readToEnd(), expected);
    connection.connection.end();
    await proxy.relays.whenEmpty();
    assert.equal(proxy.logged.length, 1);
    assert.match(proxy.logged[0]!, /the application broke the WebSocket protocol/);
  });
}

const BY_CLIENT: readonly [what: string, bytes: Buffer][] = [
  ['a reserved bit', clientFrame(TEXT, 'a', { reserved: 0x40 })],
  ['opcode 3', clientFrame(3, 'a')],
  ['opcode 11', clientFrame(11, 'a')],
  ['a fragmented ping', clientFrame(PING, 'a', { isFinal: false })],
  ['a ping of 126 bytes', clientFrame(PING, Buffer.alloc(126))],
  ['a continuation without a beginning', clientFrame(CONTINUATION, 'a')],
  ['a message within another', Buffer.concat([clientFrame(TEXT, 'a', { isFinal: false }), clientFrame(TEXT, 'b')])],
  ['text that is not UTF-8', clientFrame(TEXT, Buffer.from([0xff]))],
  [
    'fragments that are not UTF-8 together',
    Buffer.concat([
      clientFrame(TEXT, Buffer.from([0xe2, 0x82]), { isFinal: false }),
      clientFrame(CONTINUATION, Buffer.from([0x61])),
    ]),
  ],
];

for (const [what, bytes] of BY_CLIENT) {
  test(`the client sends ${what}: uWebSockets.js cuts it, and the app's side ends`, async (t) => {
    const app = await startFramesApp(t);
    const proxy = await startWebSocketProxy(t, app.port);
    const client = await connectFrames(t, proxy.port);
    const connection = await app.next();
    client.send(Buffer.concat([clientFrame(TEXT, 'before'), bytes, clientFrame(TEXT, 'after')]));
    assert.deepEqual(await client.readToEnd(), Buffer.alloc(0));
    assert.deepEqual(await connection.readFrame(), { opcode: TEXT, payload: Buffer.from('before') });
    // The newer build says why it cut the client: then the app gets a close with the code for it.
    if (await connection.connection.hasMore()) {
      const { opcode, payload } = await connection.readFrame();
      assert.equal(opcode, CLOSE);
      assert.ok([1002, 1007].includes(payload.readUInt16BE(0)));
      connection.connection.end();
    }
    await withTimeout(proxy.relays.whenEmpty(), 'the end of the relay');
  });
}

test('a frame without a mask is not taken for a message', async (t) => {
  // uWebSockets.js does not look at the mask bit: it takes the first four bytes of the payload for the key.
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.send(frame(TEXT, 'unmasked'));
  client.end();
  assert.equal(await connection.connection.hasMore(), false, 'nothing but the end reaches the app');
});

test("a client's message over the limit is refused with 1009 on both sides; one at the limit passes", async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { maxMessageBytes: MAX });
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.send(clientFrame(BINARY, Buffer.alloc(MAX)));
  assert.equal((await connection.readFrame()).payload.length, MAX);
  client.send(clientFrame(BINARY, Buffer.alloc(MAX + 1)));
  const close = closePayload(1009, 'message too big');
  assert.deepEqual(await client.readToEnd(), frame(CLOSE, close));
  assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: close });
});

test("a client's fragments over the limit are refused with 1009 on both sides", async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { maxMessageBytes: MAX });
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.send(clientFrame(BINARY, Buffer.alloc(MAX), { isFinal: false }));
  client.send(clientFrame(CONTINUATION, 'x'));
  const close = closePayload(1009, 'message too big');
  assert.deepEqual(await client.readToEnd(), frame(CLOSE, close));
  assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: close });
});

test('a message of more than twice the limit, and fragments without end, are cut before they are read', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { maxMessageBytes: MAX });
  const announced = await connectFrames(t, proxy.port);
  announced.send(clientFrame(BINARY, Buffer.alloc(2 * MAX + 1)).subarray(0, 14));
  await announced.readToEnd();
  const endless = await connectFrames(t, proxy.port);
  endless.send(clientFrame(BINARY, Buffer.alloc(MAX), { isFinal: false }));
  for (let index = 0; index < 4; index++) {
    endless.send(clientFrame(CONTINUATION, Buffer.alloc(MAX / 2), { isFinal: false }));
  }
  await endless.readToEnd();
  for (let index = 0; index < 2; index++) {
    const connection = await app.next();
    assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: closePayload(1009) });
    connection.connection.end();
  }
  await proxy.relays.whenEmpty();
});

test("an app's fragments without end are cut at the limit", async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { maxMessageBytes: MAX });
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  connection.send(frame(BINARY, Buffer.alloc(MAX / 2), { isFinal: false }));
  connection.send(frame(CONTINUATION, Buffer.alloc(MAX / 2), { isFinal: false }));
  connection.send(frame(CONTINUATION, 'x', { isFinal: false }));
  assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: closePayload(1009) });
  assert.deepEqual(await client.readToEnd(), frame(CLOSE, closePayload(1009)));
});

test('a client whose library refuses what the app sent tells the app so', async (t) => {
  const app = await startWebSocketApp(t, silent);
  const proxy = await startWebSocketProxy(t, app.port);
  await openWebSocket(t, proxy.url, { maxPayload: 1000 });
  const { socket, closed } = await app.next();
  socket.send(Buffer.alloc(1001));
  assert.equal((await withTimeout(closed, 'the close at the app')).code, 1009);
});
