import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BODY_FRAMINGS, Download } from '../helpers/download.ts';
import { stopUnderRequests, untilRefused } from '../helpers/during-stop.ts';
import { request } from '../helpers/http.ts';
import { lastingPort } from '../helpers/lasting-port.ts';
import { patternHash } from '../helpers/pattern.ts';
import { GET } from '../helpers/proxied-app.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedApp, startScriptedApp } from '../helpers/scripted-app.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { until } from '../helpers/until.ts';
import { spawnUwsrp, startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const HELD = 'GET /held HTTP/1.1\r\nHost: a\r\n\r\n';

/** An app beside the command, which only sleeps: it answers `/held` when the test says so, and all else at once. */
async function startHeldApp(t: TestContext): Promise<{ app: ScriptedApp; release(): void }> {
  const held: (() => void)[] = [];
  const app = await startScriptedApp(
    t,
    eachRequest(async ({ target, body }) => {
      if (target === '/held') await new Promise<void>((resolve) => held.push(resolve));
      return respond(`${target} ${body.length}`);
    }),
  );
  return {
    app,
    release() {
      for (const resolve of held) resolve();
    },
  };
}

async function ask(t: TestContext, uwsrp: Uwsrp, text: string): Promise<RawSocket> {
  const client = await connectRaw(uwsrp.port, t);
  client.send(text);
  return client;
}

const isStopping = (uwsrp: Uwsrp) => uwsrp.waitForLog(({ msg }) => msg === 'stopping', 'that it is stopping');

test('an idle service ends at once, closes what is open, and gives the code of its command', async (t) => {
  const { app } = await startHeldApp(t);
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  const fresh = await connectRaw(uwsrp.port, t);
  const used = await ask(t, uwsrp, GET);
  assert.equal((await used.readResponse()).status, 200);
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  await fresh.closed;
  await used.closed;
  assert.equal(used.unread.length, 0);
  await assert.rejects(connectRaw(uwsrp.port), { code: 'ECONNREFUSED' });
});

test('requests in flight are answered and told to close, while new connections are refused', async (t) => {
  const { app, release } = await startHeldApp(t);
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  const waiting = await Promise.all(Array.from({ length: 50 }, () => ask(t, uwsrp, HELD)));
  const uploading = await ask(t, uwsrp, 'POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc');
  await app.until(({ requests }) => requests === 51, '51 requests in flight');
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await untilRefused(uwsrp);
  assert.equal(uwsrp.hasExited, false);
  uploading.send('def');
  release();
  const responses = await Promise.all([...waiting, uploading].map((client) => client.readResponse()));
  for (const response of responses) {
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('connection'), 'close');
  }
  assert.equal(responses.at(-1)!.body.toString(), '/up 6');
  assert.deepEqual(await exited, { code: 143, signal: null });
});

test('a download that has begun arrives whole', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'] });
  const size = 20_000_000;
  const downloads = await Promise.all(
    BODY_FRAMINGS.map(async (framing) => {
      const path = framing === 'length' ? `/bytes/${size}` : `/bytes/${size}/chunked`;
      const client = await ask(t, uwsrp, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await client.readResponseHead();
      client.pause();
      return { client, download: new Download(client, framing, size) };
    }),
  );
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await isStopping(uwsrp);
  for (const { client } of downloads) client.resume();
  for (const { download } of downloads) assert.equal(await download.digest(10_000), patternHash(size));
  for (const { client } of downloads) client.destroy();
  assert.deepEqual(await exited, { code: 0, signal: null });
});

test('200 requests, an event stream and 50 WebSockets at a time: nothing is lost by a stop', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { UWSRP_DRAIN_TIMEOUT: '3s' } });
  const clients = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      ask(
        t,
        uwsrp,
        index % 2 === 0
          ? 'GET /slow/1500 HTTP/1.1\r\nHost: a\r\n\r\n'
          : 'POST /slow-hash/1000 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx',
      ),
    ),
  );
  const stream = await ask(t, uwsrp, 'GET /sse HTTP/1.1\r\nHost: a\r\n\r\n');
  await stream.readUntil('data: hello\n\n');
  const sockets = await Promise.all(
    Array.from({ length: 50 }, () => openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/`)),
  );
  for (const socket of sockets) for (let count = 0; count < 20; count += 1) socket.send(`${count}`);
  // What came before it, uwsrp and the app have read before it, and what the app sent before its answer is on its way:
  // all requests are in flight, and no message is one that came too late.
  await request(uwsrp.port, { method: 'POST', path: '/ws-send', body: 'last words' });
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  for (const socket of sockets) {
    assert.equal((await socket.nextMessage()).text, 'last words');
    assert.deepEqual(await withTimeout(socket.closed, 'the close of a WebSocket'), { code: 1001, reason: '' });
  }
  const responses = await Promise.all(clients.map((client) => client.readResponse({ timeoutMs: 10_000 })));
  assert.ok(responses.every(({ status }) => status === 200));
  for (const client of clients) client.destroy();
  assert.deepEqual(await exited, { code: 0, signal: null });
  await stream.closed;
  assert.match(stream.received.toString(), /\r\n0\r\n\r\n$/);
  assert.equal(uwsrp.stdout.match(/^websocket closed 1001 after 20 messages$/gm)?.length, sockets.length);
});

test('a response that takes longer than the stop may is cut, and never looks complete', async (t) => {
  const app = await startScriptedApp(t, async (connection) => {
    if (!(await connection.hasMore(60_000))) return;
    const { target } = await connection.readRequest();
    const framing = target === '/length' ? 'Content-Length: 100' : 'Transfer-Encoding: chunked';
    connection.send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${target === '/length' ? 'sent' : '4\r\nsent\r\n'}`);
  });
  const env = { UWSRP_DRAIN_TIMEOUT: '200ms', UWSRP_SHUTDOWN_TIMEOUT: '5s' };
  const uwsrp = await startUwsrp(t, { appPort: app.port, env });
  const clients = [
    await ask(t, uwsrp, 'GET /length HTTP/1.1\r\nHost: a\r\n\r\n'),
    await ask(t, uwsrp, 'GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n'),
  ];
  for (const client of clients) await client.readUntil('sent');
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  for (const client of clients) {
    await client.closed;
    assert.ok(!client.unread.includes('0\r\n\r\n'));
  }
});

test('a request that races with the stop is served whole, or gets not one byte', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'] });
    const { exit, wrong } = await stopUnderRequests(t, uwsrp, { clients: 20, answers: 100 });
    assert.deepEqual(exit, { code: 0, signal: null });
    assert.deepEqual(wrong, [], `round ${round}`);
  }
});

test('during UWSRP_DRAIN_DELAY all is served, health says 503, and every answer says close', async (t) => {
  const { app } = await startHeldApp(t);
  const env = { UWSRP_DRAIN_DELAY: '1500ms', UWSRP_DRAIN_TIMEOUT: '1s', UWSRP_HEALTH_PATH: '/healthz' };
  const uwsrp = await startUwsrp(t, { appPort: app.port, env });
  const kept = await ask(t, uwsrp, GET);
  assert.equal((await kept.readResponse()).headers.get('connection'), undefined);
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await isStopping(uwsrp);
  for (const client of [kept, await connectRaw(uwsrp.port, t)]) {
    client.send(GET);
    const response = await client.readResponse();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('connection'), 'close');
  }
  const health = await (await ask(t, uwsrp, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')).readResponse();
  assert.equal(health.status, 503);
  assert.deepEqual(await exited, { code: 143, signal: null });
});

test('a second signal within a second is the same stop; one after that ends it now', async (t) => {
  const { app, release } = await startHeldApp(t);
  const first = await startUwsrp(t, { appPort: app.port });
  const served = await ask(t, first, HELD);
  await app.until(({ requests }) => requests === 1, 'the request');
  const firstExit = first.exited;
  first.child.kill('SIGTERM');
  await isStopping(first);
  first.child.kill('SIGINT');
  release();
  assert.equal((await served.readResponse()).status, 200);
  assert.deepEqual(await firstExit, { code: 143, signal: null });

  const second = await startUwsrp(t, { appPort: app.port });
  const lost = await ask(t, second, HELD);
  await app.until(({ requests }) => requests === 2, 'the request');
  const secondExit = second.exited;
  second.child.kill('SIGTERM');
  await isStopping(second);
  await delay(1100);
  assert.equal(second.hasExited, false);
  second.child.kill('SIGTERM');
  assert.deepEqual(await secondExit, { code: 137, signal: null });
  await lost.closed;
});

test('connects are refused until the app is ready, and the first that succeeds is served', async (t) => {
  const port = await lastingPort();
  const server = `require('http').createServer((_, res) => res.end('ready')).listen(process.env.PORT, '127.0.0.1')`;
  const args = ['node', '--eval', `setTimeout(() => ${server}, 500)`];
  const uwsrp = spawnUwsrp(t, { args, env: { PORT: `${port}` } });
  let refusals = 0;
  await until(async () => {
    const client = await connectRaw(port, t).catch((error: NodeJS.ErrnoException) => error);
    if (client instanceof Error) {
      assert.equal(client.code, 'ECONNREFUSED');
      refusals += 1;
      return false;
    }
    client.send(GET);
    assert.equal((await client.readResponse()).body.toString(), 'ready');
    return true;
  }, 'the first answer');
  assert.ok(refusals > 10, `${refusals} connects were refused`);
  await uwsrp.ready;
});
