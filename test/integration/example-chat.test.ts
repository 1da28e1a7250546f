import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { startChromium } from '../helpers/chromium.ts';
import { request } from '../helpers/http.ts';
import { inRepository } from '../helpers/repository.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

const next = async (socket: TestWebSocket) => JSON.parse((await socket.nextMessage()).text);

/** The example as its Dockerfile starts it. */
const startChat = (t: TestContext) =>
  startUwsrp(t, {
    cwd: inRepository('examples', 'chat'),
    args: ['node', 'server.js'],
    env: { UWSRP_WS_MODULE: 'chat.js' },
  });

function announce({ port }: Uwsrp, room: string, text: unknown) {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ text });
  return request(port, { method: 'POST', path: `/rooms/${room}/announcements`, headers, body });
}

test('examples/chat: visitors talk in their room, and the app announces to it', async (t) => {
  const uwsrp = await startChat(t);
  const enter = (room: string) => openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/${room}`);
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

  assert.equal((await announce(uwsrp, 'lobby', 'the kitchen opens')).status, 204);
  for (const socket of [one, two]) assert.deepEqual(await next(socket), { announcement: 'the kitchen opens' });
  assert.equal((await announce(uwsrp, 'lobby', 7)).status, 400);

  await two.close();
  assert.deepEqual(await next(one), { from: second, event: 'left' });
  elsewhere.send('only here');
  assert.equal((await next(elsewhere)).text, 'only here');
  assert.deepEqual(await uwsrp.stop(), { code: 0, signal: null });
  assert.equal((await one.closed).code, 1001);
});

test('examples/chat: a room has any name, and a name that is not encoded properly is refused', async (t) => {
  const uwsrp = await startChat(t);
  for (const room of ['café', 'a b', '50 % off/now?', '部屋']) {
    const encoded = encodeURIComponent(room);
    const visitor = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/${encoded}`);
    assert.equal((await next(visitor)).event, 'came');
    assert.equal((await announce(uwsrp, encoded, `to ${room}`)).status, 204);
    assert.deepEqual(await next(visitor), { announcement: `to ${room}` });
  }
  await assert.rejects(openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/100%`), /400/);
});

test('examples/chat: its page in a browser shows what is announced and said, and says what is typed', async (t) => {
  const uwsrp = await startChat(t);
  const chromium = startChromium(t);
  await chromium.openPage(`http://127.0.0.1:${uwsrp.port}`);
  await chromium.waitForText('#state', 'connected');
  const visitor = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/lobby`);
  const { from } = await next(visitor);
  const newest = '#log li:last-child';
  await chromium.waitForText(newest, `${from}came`);

  await announce(uwsrp, 'lobby', 'the kitchen opens');
  await chromium.waitForText(newest, 'appthe kitchen opens');
  assert.deepEqual(await next(visitor), { announcement: 'the kitchen opens' });
  visitor.send('<b>hello</b>');
  await chromium.waitForText(newest, `${from}<b>hello</b>`);
  assert.equal((await next(visitor)).text, '<b>hello</b>');

  const type = (field: string, text: string) =>
    chromium.run(`{
      const field = document.querySelector('${field}');
      field.value = '${text}';
      field.form.requestSubmit();
    }`);
  await type('#text', 'typed');
  assert.equal((await next(visitor)).text, 'typed');
  await type('#news', 'we close');
  assert.deepEqual(await next(visitor), { announcement: 'we close' });
  await chromium.waitForText(newest, 'appwe close');
});
