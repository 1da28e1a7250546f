import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lastingPort } from '../helpers/lasting-port.ts';
import { answerOnce, assertErrorAnswer, GET, startProxiedApp } from '../helpers/proxied-app.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedApp, startScriptedApp } from '../helpers/scripted-app.ts';
import { until } from '../helpers/until.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const answerOk = eachRequest(() => respond('ok'));

test('the answer for a fault of the app', async (t) => {
  const proxied = await startProxiedApp(t);
  const invalid = 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n';

  await proxied.test('is a page for people', async (run) => {
    const response = await run.ask(invalid);
    assertErrorAnswer(response, 502);
    assert.equal(response.reason, 'Bad Gateway');
    const names = ['Cache-Control', 'Content-Length', 'Content-Type', 'Date', 'X-Request-Id'];
    assert.deepEqual(response.headers.names().sort(), names);
  });

  await proxied.test('is JSON for programs that ask for it', async (run) => {
    const request = 'GET / HTTP/1.1\r\nHost: a.example\r\nAccept: application/json\r\n\r\n';
    const response = await run.ask(invalid, request);
    assert.equal(response.status, 502);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.deepEqual(JSON.parse(response.body.toString()), {
      error: { code: 'UPSTREAM_INVALID', message: 'The application gave an invalid answer.', status: 502 },
    });
  });

  await proxied.test('has the length of its page and no body for HEAD, and the connection goes on', async (run) => {
    const page = await run.ask(invalid);
    await run.script(eachRequest(({ target }) => (target === '/' ? invalid : respond('ok'))));
    const client = await run.send('HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    const response = await client.readResponse({ method: 'HEAD' });
    assert.equal(response.status, 502);
    assert.equal(response.headers.get('content-length'), `${page.body.length}`);
    client.send('GET /next HTTP/1.1\r\nHost: a.example\r\n\r\n');
    assert.equal((await client.readResponse()).body.toString(), 'ok');
  });

  await proxied.test('is logged with its reason, and without the query', async (run) => {
    await run.ask(invalid, 'GET /logged?secret=1 HTTP/1.1\r\nHost: a.example\r\n\r\n');
    const line = await run.uwsrp.waitForLog((each) => each.path === '/logged', 'about the request');
    assert.equal(line.status, 502);
    assert.equal(line.code, 'UPSTREAM_INVALID');
    assert.match(String(line.reason), /Content-Length/);
    assert.doesNotMatch(run.uwsrp.output(), /secret/);
  });

  await proxied.test('is a cut once it has begun, and the reason is logged too', async (run) => {
    await run.script(answerOnce('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsent'));
    const client = await run.send('GET /cut HTTP/1.1\r\nHost: a.example\r\n\r\n');
    await client.readUntil('sent');
    run.app.accepted[0]!.end();
    await client.closed;
    const line = await run.uwsrp.waitForLog((each) => each.path === '/cut', 'about the request');
    assert.equal(line.status, 200);
    assert.equal(line.code, 'UPSTREAM_CLOSED');
    assert.match(String(line.reason), /in the middle of the response body/);
  });

  await proxied.test('is the same whether the request had a body or not', async (run) => {
    const body = 'b'.repeat(200_000);
    const requests = [
      GET,
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n${body}\r\n0\r\n\r\n`,
    ];
    for (const request of requests) {
      await run.script(async (connection, index) => {
        if (index > 0) return answerOk(connection, index);
        await connection.readRequestHead();
        connection.end();
      });
      const client = await run.send(request);
      assertErrorAnswer(await client.readResponse(), 502);
      client.send(GET);
      assert.equal((await client.readResponse()).body.toString(), 'ok');
    }
  });
});

test('answers 502 while nothing listens, and 200 as soon as the app is back', async (t) => {
  const port = await lastingPort();
  let app: ScriptedApp = await startScriptedApp(t, answerOk, { port });
  const uwsrp = await startUwsrp(t, { appPort: port });
  const client = await connectRaw(uwsrp.port, t);
  client.send(GET);
  assert.equal((await client.readResponse()).status, 200);
  for (let round = 0; round < 3; round += 1) {
    await app.stop();
    for (const request of [GET, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc']) {
      client.send(request);
      assertErrorAnswer(await client.readResponse(), 502);
    }
    app = await startScriptedApp(t, answerOk, { port });
    client.send(GET);
    assert.equal((await client.readResponse()).body.toString(), 'ok');
  }
});

test('the health path turns to 503 with a failed connect, and back to 200 by itself when the app is back', async (t) => {
  // An app that keeps no connection: none is ever used again.
  const closing = eachRequest(() => respond('ok', { head: ['Connection: close'] }));
  const port = await lastingPort();
  const app = await startScriptedApp(t, closing, { port });
  const uwsrp = await startUwsrp(t, { appPort: port, env: { UWSRP_HEALTH_PATH: '/healthz' } });
  const client = await connectRaw(uwsrp.port, t);
  const ask = async (path: string) => {
    client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return (await client.readResponse()).status;
  };
  assert.equal(await ask('/healthz'), 200);
  await app.stop();
  assert.equal(await ask('/healthz'), 200, 'nobody tried to connect yet');
  assert.equal(await ask('/'), 502);
  assert.equal(await ask('/healthz'), 503);

  const second = await startScriptedApp(t, closing, { port });
  await until(async () => (await ask('/healthz')) === 200, 'the health path to say 200');
  assert.equal(second.requests, 0);
  await second.stop();
  assert.equal(await ask('/'), 502);
  assert.equal(await ask('/healthz'), 503);
  await startScriptedApp(t, closing, { port });
  assert.equal(await ask('/'), 200);
  assert.equal(await ask('/healthz'), 200);
});

test('answers 502 while the unix socket is missing or dead, and 200 as soon as the app is back', async (t) => {
  const folder = mkdtempSync('/tmp/uwsrp-faults-');
  chmodSync(folder, 0o755);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'app.sock');
  const app = await startScriptedApp(t, answerOk, { path });
  const uwsrp = await startUwsrp(t, { appSocket: path });
  const client = await connectRaw(uwsrp.port, t);
  client.send(GET);
  assert.equal((await client.readResponse()).status, 200);
  await app.stop();
  client.send(GET);
  assertErrorAnswer(await client.readResponse(), 502);
  await startScriptedApp(t, answerOk, { path });
  client.send(GET);
  assert.equal((await client.readResponse()).body.toString(), 'ok');
});

test('only fails what is in flight when the app restarts under load', async (t) => {
  const port = await lastingPort();
  let app = await startScriptedApp(t, answerOk, { port });
  const uwsrp = await startUwsrp(t, { appPort: port });
  /** Odd while the app is away. */
  let phase = 0;
  let isOver = false;
  const failures: string[] = [];
  const load = Array.from({ length: 16 }, async (_, index) => {
    const client = await connectRaw(uwsrp.port, t);
    while (!isOver) {
      const before = phase;
      client.send(index % 2 ? GET : 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc');
      const response = await client.readResponse();
      if (response.status === 200) continue;
      assertErrorAnswer(response, 502);
      if (before === phase && phase % 2 === 0) failures.push(`${response.status} while the app was there`);
      // A client that is refused tries again in a moment; one that does not would only heat the machine.
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  for (let restart = 0; restart < 4; restart += 1) {
    await app.until(({ requests }) => requests >= 200, '200 requests');
    phase += 1;
    await app.stop();
    const refused = await connectRaw(uwsrp.port, t);
    refused.send(GET);
    assertErrorAnswer(await refused.readResponse(), 502);
    app = await startScriptedApp(t, answerOk, { port });
    phase += 1;
  }
  await app.until(({ requests }) => requests >= 200, '200 requests');
  isOver = true;
  await Promise.all(load);
  assert.deepEqual(failures, []);
});
