import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CLOSE, PING, TEXT } from '../../src/upstream/websocket-frame.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { openWebSocket, Refused } from '../helpers/websocket.ts';
import { startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame, closePayload, frame } from '../helpers/websocket-frames.ts';
import { connectFrames, startFramesApp } from '../helpers/websocket-peer.ts';
import { startWebSocketProxy } from '../helpers/websocket-proxy.ts';

test('on stop every client and the app get 1001', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const clients = [];
  for (let index = 0; index < 20; index++) clients.push(await openWebSocket(t, proxy.url));
  const appSides = [];
  for (let index = 0; index < 20; index++) appSides.push(await app.next());
  assert.equal(proxy.relays.openCount, 20);
  await withTimeout(proxy.relays.closeAll(), 'all WebSockets to be closed');
  assert.equal(proxy.relays.openCount, 0);
  for (const { closed } of [...clients, ...appSides]) assert.deepEqual(await closed, { code: 1001, reason: '' });
});

test('on stop messages that were sent before still arrive', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  client.send(clientFrame(TEXT, 'last'));
  assert.equal((await connection.readFrame()).payload.toString(), 'last');
  const stopped = proxy.relays.closeAll();
  assert.deepEqual(await client.readToEnd(), frame(CLOSE, closePayload(1001)));
  assert.deepEqual(await connection.readFrame(), { opcode: CLOSE, payload: closePayload(1001) });
  connection.connection.end(frame(CLOSE, closePayload(1001)));
  await stopped;
});

test('on stop an app that does not answer the close is cut by the timer', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { closeTimeoutMs: 100 });
  await connectFrames(t, proxy.port);
  const connection = await app.next();
  await withTimeout(proxy.relays.closeAll(), 'the timer');
  assert.equal((await connection.readFrame()).opcode, CLOSE);
  assert.equal(await connection.connection.hasMore(), false);
});

test('terminateAll cuts what is left, also while a close is under way', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { closeTimeoutMs: 60_000 });
  const closing = await connectFrames(t, proxy.port);
  await app.next();
  const stopped = proxy.relays.closeAll();
  await closing.readToEnd();
  proxy.relays.terminateAll();
  await withTimeout(stopped, 'the cut');
  assert.equal(proxy.relays.openCount, 0);
});

test('a handshake that waits for the app when the stop comes is refused, and so is one that comes later', async (t) => {
  const app = await startWebSocketApp(t, undefined, { verifyClient: (_info, _done) => {} });
  const proxy = await startWebSocketProxy(t, app.port);
  const pending = openWebSocket(t, proxy.url);
  pending.catch(() => {});
  await once(app.server.options.server!, 'upgrade');
  await withTimeout(proxy.relays.closeAll(), 'the pending handshake to be refused');
  for (const each of [pending, openWebSocket(t, proxy.url)]) {
    await assert.rejects(each, (error: Refused) => error instanceof Refused && error.status === 503);
  }
});

test('2,000 WebSockets one after the other: none is cut, and nothing is left of them', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const handles = () => readdirSync('/proc/self/fd').length;
  const cycle = async () => {
    const ws = await openWebSocket(t, proxy.url);
    assert.equal((await ws.exchange('x')).text, 'x');
    assert.deepEqual(await ws.close(1000), { code: 1000, reason: '' });
  };
  for (let index = 0; index < 20; index++) await cycle();
  await proxy.relays.whenEmpty();
  const before = handles();
  for (let round = 0; round < 99; round++) await Promise.all(Array.from({ length: 20 }, cycle));
  await proxy.relays.whenEmpty();
  assert.ok(handles() <= before + 25, `${handles()} open files, ${before} before`);
});

test('a silent client and a silent app are pinged again and again where uWebSockets.js does it too seldom', async (t) => {
  const app = await startFramesApp(t);
  for (const idleTimeoutMs of [0, 65_000]) {
    const proxy = await startWebSocketProxy(t, app.port, { idleTimeoutMs, pingTickMs: 5 });
    const client = await connectFrames(t, proxy.port);
    const connection = await app.next();
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await client.readExactly(2), frame(PING, ''));
      assert.deepEqual(await connection.readFrame(), { opcode: PING, payload: Buffer.alloc(0) });
    }
  }
});

test('with a short idle timeout uWebSockets.js pings the client, and cuts one that does not answer', async (t) => {
  const app = await startFramesApp(t);
  const proxy = await startWebSocketProxy(t, app.port, { idleTimeoutMs: 1_000 });
  const client = await connectFrames(t, proxy.port);
  const connection = await app.next();
  assert.deepEqual(await client.readExactly(2, 12_000), frame(PING, ''));
  assert.deepEqual(await client.readToEnd(12_000), Buffer.alloc(0));
  assert.equal(await connection.connection.hasMore(), false);
  await proxy.relays.whenEmpty();
});
