import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptFor } from '../../src/upstream/websocket-handshake.ts';
import { request } from '../helpers/http.ts';
import { answerOnce, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { respond, startScriptedApp } from '../helpers/scripted-app.ts';
import { type LogLine, startUwsrp } from '../helpers/uwsrp.ts';

let count = 0;
/** A path that no other request has. */
function nextPath(): string {
  count += 1;
  return `/path-${count}`;
}

const get = (path: string, ...lines: string[]) =>
  `GET ${path} HTTP/1.1\r\nHost: a.example\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

const HANDSHAKE = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
const ACCEPTED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';

function lineOf(run: ProxiedCase, path: string): Promise<LogLine> {
  return run.uwsrp.waitForLog((line) => line.path === path, `of ${path}`);
}

/** Lines of requests that were logged before this one was. */
async function linesOf(run: ProxiedCase, path: string): Promise<LogLine[]> {
  const last = nextPath();
  await run.ask('garbage\r\n\r\n', get(last));
  await lineOf(run, last);
  return run.uwsrp.logs().filter((line) => line.path === path);
}

test('UWSRP_ACCESS_LOG=all', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_ACCESS_LOG: 'all', UWSRP_HEALTH_PATH: '/up' } });

  await proxied.test('has one line for a request, with everything that there is to tell', async (run) => {
    const path = nextPath();
    await run.ask(respond('twelve bytes'), get(`${path}?query=1`, 'X-Request-Id: my-id', 'X-Forwarded-For: 192.0.2.9'));
    const line = await lineOf(run, path);
    assert.equal(line.level, 'info');
    assert.equal(line.msg, 'request');
    assert.equal(line.method, 'GET');
    assert.equal(line.status, 200);
    assert.equal(line.bytes, 12);
    assert.equal(line.requestId, 'my-id');
    assert.equal(line.client, '192.0.2.9');
    assert.ok((line.firstByteMs as number) > 0);
    assert.ok((line.durationMs as number) >= (line.firstByteMs as number));
    assert.equal(line.code, undefined);
    assert.equal(line.reason, undefined);
    assert.equal((await linesOf(run, path)).length, 1);
  });

  await proxied.test('tells the id that was made', async (run) => {
    const path = nextPath();
    const response = await run.ask(respond('ok'), get(path));
    assert.equal((await lineOf(run, path)).requestId, response.headers.get('x-request-id'));
  });

  await proxied.test('has the bytes of a body in pieces, and none for HEAD', async (run) => {
    const path = nextPath();
    await run.ask('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', get(path));
    assert.equal((await lineOf(run, path)).bytes, 5);
    const other = nextPath();
    await run.ask('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n', get(other).replace('GET', 'HEAD'));
    assert.equal((await lineOf(run, other)).bytes, 0);
  });

  await proxied.test('has the answers of ours: refusals with their reason, and the health path', async (run) => {
    const path = nextPath();
    await (await run.send(get(path, 'Transfer-Encoding: gzip'))).readResponse();
    const refused = await lineOf(run, path);
    assert.equal(refused.status, 400);
    assert.equal(refused.level, 'info');
    assert.equal(refused.code, 'BAD_REQUEST');
    assert.match(String(refused.reason), /Transfer-Encoding/);
    assert.equal(refused.firstByteMs, undefined);
    assert.ok((refused.bytes as number) > 0);

    await (await run.send(get('/up'))).readResponse();
    assert.equal((await lineOf(run, '/up')).status, 200);
  });

  await proxied.test('has an app that failed, with the reason and the status that the client got', async (run) => {
    const path = nextPath();
    await run.ask('garbage\r\n\r\n', get(path));
    const line = await lineOf(run, path);
    assert.equal(line.status, 502);
    assert.equal(line.level, 'warn');
    assert.equal(line.msg, 'request failed');
    assert.equal(line.code, 'UPSTREAM_INVALID');
  });

  await proxied.test('has an answer that was cut, with the status that was out, as a failure', async (run) => {
    const path = nextPath();
    await run.script(async (connection) => {
      await connection.readRequest();
      await connection.sendAndFlush('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      connection.reset();
    });
    const client = await run.send(get(path));
    await client.readToEnd();
    const line = await lineOf(run, path);
    assert.equal(line.status, 200);
    assert.equal(line.level, 'warn');
    assert.equal(line.code, 'UPSTREAM_CLOSED');
    assert.equal(line.bytes, 4);
  });

  await proxied.test('has handshakes of WebSockets: accepted, refused by the app, and not valid', async (run) => {
    await run.script(async (connection) => {
      const { target, headers } = await connection.readRequest();
      if (target.endsWith('refused')) connection.send(respond('no', { status: '403 Forbidden' }));
      else connection.send(`${ACCEPTED}Sec-WebSocket-Accept: ${acceptFor(headers.get('sec-websocket-key')!)}\r\n\r\n`);
    });
    for (const [kind, version, status] of [
      ['accepted', 13, 101],
      ['refused', 13, 403],
      ['not-valid', 8, 426],
    ] as const) {
      const path = `${nextPath()}-${kind}`;
      const client = await run.send(get(path, ...HANDSHAKE, `Sec-WebSocket-Version: ${version}`));
      assert.equal((await client.readResponseHead()).status, status);
      const line = await lineOf(run, path);
      assert.equal(line.status, status);
      assert.equal(line.level, 'info');
    }
  });
});

test('UWSRP_ACCESS_LOG=errors, the default', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('has nothing of answers below 500, of the app or of ours', async (run) => {
    for (const status of ['200 OK', '304 Not Modified', '404 Not Found', '418 Odd']) {
      const path = nextPath();
      await run.ask(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`, get(path));
      assert.deepEqual(await linesOf(run, path), []);
    }
    const path = nextPath();
    await (await run.send(get(path, 'Transfer-Encoding: gzip'))).readResponse();
    assert.deepEqual(await linesOf(run, path), []);
  });

  await proxied.test("has a 5xx of the app's own, which is no failure of the way there", async (run) => {
    const path = nextPath();
    await run.ask(respond('broken', { status: '500 Internal Server Error' }), get(path));
    const line = await lineOf(run, path);
    assert.equal(line.status, 500);
    assert.equal(line.level, 'warn');
    assert.equal(line.msg, 'request');
    assert.equal(line.code, undefined);
  });

  await proxied.test('has clients that went away: before the answer, in it, and in their body', async (run) => {
    await run.script(async (connection) => {
      const { target } = await connection.readRequestHead();
      if (target.endsWith('answer')) connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun');
      await connection.closed;
    });
    for (const [kind, reason, send] of [
      ['waiting', /before its answer/, (path: string) => get(path)],
      ['answer', /in the middle of its answer/, (path: string) => get(path)],
      ['upload', /in the middle of its body/, (path: string) => `${get(path, 'Content-Length: 9')}half`],
    ] as const) {
      const path = `${nextPath()}-${kind}`;
      const requests = run.app.requests;
      const client = await run.send(send(path));
      await run.app.until((app) => app.requests > requests, 'the request');
      if (kind === 'answer') await client.readUntil('begun');
      client.destroy();
      const line = await lineOf(run, path);
      assert.equal(line.status, 499);
      assert.equal(line.level, 'info');
      assert.equal(line.code, 'CLIENT_GONE');
      assert.match(String(line.reason), reason);
    }
  });
});

test('UWSRP_ACCESS_LOG=off has no request, not even one that failed', async (t) => {
  const app = await startScriptedApp(t, answerOnce('garbage\r\n\r\n'));
  const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_ACCESS_LOG: 'off' } });
  assert.equal((await request(uwsrp.port)).status, 502);
  await uwsrp.stop();
  assert.deepEqual(
    uwsrp.logs().filter(({ status }) => status !== undefined),
    [],
  );
});
