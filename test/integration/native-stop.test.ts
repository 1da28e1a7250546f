import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { nativeModule, startNative } from '../helpers/native.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';

test('on stop native and relayed WebSockets get 1001, after what the module sends at its signal', async (t) => {
  const { uwsrp, url } = await startNative(
    t,
    `
    app.ws('/native', { open: (ws) => { ws.subscribe('news'); } });
    context.signal.addEventListener('abort', () => context.publish('news', 'last words'));`,
  );
  const native = [await openWebSocket(t, url('/native')), await openWebSocket(t, url('/native'))];
  const relayed = await openWebSocket(t, url('/other'));
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  for (const socket of native) {
    assert.equal((await socket.nextMessage()).text, 'last words');
    assert.deepEqual(await socket.closed, { code: 1001, reason: '' });
  }
  assert.equal((await relayed.closed).code, 1001);
});

test('a stop waits for native requests, whose answers close their connections', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    app.get('/held', (res) => {
      res.onAborted(() => {});
      context.log.info('held');
      context.signal.addEventListener('abort', () => setImmediate(() => res.cork(() => { res.end('answered'); })));
    });`,
  );
  const held = request(uwsrp.port, { path: '/held' });
  await uwsrp.waitForLog(({ msg }) => msg === 'held', 'of the handler');
  const stopped = uwsrp.stop();
  assert.equal((await held).text, 'answered');
  assert.deepEqual(await stopped, { code: 143, signal: null });
});

test('a handshake that a module answers late is closed when a stop has begun meanwhile', async (t) => {
  const { uwsrp, url } = await startNative(
    t,
    `
    app.ws('/late', {
      upgrade(res, req, wsContext) {
        const key = req.getHeader('sec-websocket-key');
        res.onAborted(() => {});
        context.log.info('asked');
        context.signal.addEventListener('abort', () => setTimeout(() => res.cork(() => { res.upgrade({}, key, '', '', wsContext); }), 100));
      },
    });`,
  );
  const opening = openWebSocket(t, url('/late'));
  await uwsrp.waitForLog(({ msg }) => msg === 'asked', 'of the handler');
  const stopped = uwsrp.stop();
  assert.equal((await (await opening).closed).code, 1001);
  assert.deepEqual(await stopped, { code: 143, signal: null });
});

test('the signal is aborted too when the command ends by itself', async (t) => {
  const path = nativeModule(t, "context.signal.addEventListener('abort', () => context.log.info('told'));");
  const server =
    'createServer((_, answer) => answer.end("", () => process.exit(3))).listen(process.env.PORT, "127.0.0.1")';
  const args = ['node', '-e', `require("http").${server}`];
  const uwsrp = await startUwsrp(t, { args, env: { UWSRP_WS_MODULE: path } });
  await request(uwsrp.port);
  assert.equal((await uwsrp.exited).code, 3);
  assert.match(uwsrp.stdout, /"told"/);
});
