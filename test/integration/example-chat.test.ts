import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { inRepository } from '../helpers/repository.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

const next = async (socket: TestWebSocket) => JSON.parse((await socket.nextMessage()).text);

test('examples/chat: visitors talk in their room, and the app announces to it', async (t) => {
  const cwd = inRepository('examples', 'chat');
  const uwsrp = await startUwsrp(t, { cwd, args: ['node', 'server.js'], env: { UWSRP_WS_MODULE: 'chat.js' } });
  const enter = (room: string) => openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/${room}`);
  const announce = (room: string, text: unknown) => {
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ text });
    return request(uwsrp.port, { method: 'POST', path: `/rooms/${room}/announcements`, headers, body });
  };
  assert.equal((await request(uwsrp.port)).text, readFileSync(inRepository('examples', 'chat', 'index.html'), 'utf8'));

  const one = await enter('lobby');
  const { from: first, event } = await next(one);
  assert.equal(event, 'came');
  const two = await enter('lobby');
  const { from: second } = await next(one);
  assert.notEqual(second, first);
  assert.deepEqual(await next(two), { from: second, event: 'came' });
  const elsewhere = await enter('kitchen');
  await next(elsewhere);

  two.send('  grüße  ');
  for (const socket of [one, two]) assert.deepEqual(await next(socket), { from: second, text: 'grüße' });
  for (const nothing of ['   ', Buffer.from('bytes')]) two.send(nothing);
  two.send('x'.repeat(600));
  for (const socket of [one, two]) assert.equal((await next(socket)).text, 'x'.repeat(500));

  assert.equal((await announce('lobby', 'the kitchen opens')).status, 204);
  for (const socket of [one, two]) assert.deepEqual(await next(socket), { announcement: 'the kitchen opens' });
  assert.equal((await announce('lobby', 7)).status, 400);

  await two.close();
  assert.deepEqual(await next(one), { from: second, event: 'left' });
  elsewhere.send('only here');
  assert.equal((await next(elsewhere)).text, 'only here');
  assert.deepEqual(await uwsrp.stop(), { code: 0, signal: null });
  assert.equal((await one.closed).code, 1001);
});
