import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, fieldsOf, forward, head, record } from '../helpers/request-case.ts';
import type { AppRequestHead } from '../helpers/scripted-app.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const SECRET = head('GET /secret HTTP/1.1');

/** A WebSocket handshake; fields may be replaced or, with an empty text, left out. */
function handshake(changes: Readonly<Record<string, string>> = {}, line = 'GET /ws HTTP/1.1'): string {
  const fields: Record<string, string> = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': KEY,
    ...changes,
  };
  return head(line, ...Object.entries(fields).flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`])));
}

/** Scripts the app to take every handshake, and gives the heads that it got and what came behind them. */
async function takeHandshakes(run: ProxiedCase): Promise<{ heads: AppRequestHead[]; rest: string }> {
  const got = { heads: [] as AppRequestHead[], rest: '' };
  await run.script(async (connection) => {
    const request = await connection.readRequestHead();
    got.heads.push(request);
    const key = request.headers.get('sec-websocket-key')!;
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    connection.send(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    // A close frame, if the other side is not gone at once: the app answers by closing.
    await connection.hasMore();
    got.rest += connection.unread.toString('latin1');
    connection.end();
  });
  return got;
}

test('request smuggling by an upgrade', async (t) => {
  const proxied = await startProxiedApp(t);

  for (const [name, request, status] of [
    ['with a length and a body', `${handshake({ 'Content-Length': '5' })}hello`, 400],
    ['with the length of a request', handshake({ 'Content-Length': `${SECRET.length}` }), 400],
    ['with a chunked body', `${handshake({ 'Transfer-Encoding': 'chunked' })}5\r\nhello\r\n0\r\n\r\n`, 400],
    ['with an empty chunked body', `${handshake({ 'Transfer-Encoding': 'chunked' })}0\r\n\r\n`, 400],
    ['with an unknown coding', `${handshake({ 'Transfer-Encoding': 'x' })}5\r\nhello\r\n0\r\n\r\n`, 400],
    ['with a length that is none', handshake({ 'Content-Length': 'x' }), 400],
    ['by POST', handshake({}, 'POST /ws HTTP/1.1'), 400],
    ['by POST with a length of 0', handshake({ 'Content-Length': '0' }, 'POST /ws HTTP/1.1'), 400],
    ['by a method in lower case', handshake({}, 'get /ws HTTP/1.1'), 400],
    ['of version 8', handshake({ 'Sec-WebSocket-Version': '8' }), 426],
    ['of no version', handshake({ 'Sec-WebSocket-Version': '' }), 426],
    ['without a key', handshake({ 'Sec-WebSocket-Key': '' }), 400],
    ['with a key that is too short', handshake({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZQ==' }), 400],
    ['with a key that is no base64', handshake({ 'Sec-WebSocket-Key': '!!!!!!!!!!!!!!!!!!!!!!==' }), 400],
    ['for a Host that is none', handshake({ Host: 'a/b' }), 400],
    ['that expects the impossible', handshake({ Expect: 'x' }), 417],
  ] as const) {
    await proxied.test(`refuses a handshake ${name}`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request);
      const response = await client.readResponse();
      // What uWebSockets.js does not take for a request it refuses by itself.
      assert.ok(response.status === status || (response.status === 400 && response.body.includes('uWebSockets')));
      const isUpgrade = response.status === 426;
      assert.deepEqual(response.headers.all('connection'), isUpgrade ? ['upgrade', 'close'] : ['close']);
      assert.equal(response.headers.get('upgrade'), isUpgrade ? 'websocket' : undefined);
      assert.equal(response.headers.get('sec-websocket-version'), isUpgrade ? '13' : undefined);
      client.send(SECRET);
      assert.equal((await client.readToEnd()).length, 0);
      await assertUntouched(run, seen);
    });

    await proxied.test(`reads no request that comes along with a handshake ${name}`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request + SECRET);
      assert.doesNotMatch((await client.readToEnd()).toString('latin1'), /200 OK/);
      await assertUntouched(run, seen);
    });
  }

  await proxied.test('reads no request that comes along with a handshake', async (run) => {
    const got = await takeHandshakes(run);
    const client = await run.send(handshake() + SECRET);
    await client.closed;
    await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
    assert.ok(got.heads.length <= 1);
    assert.ok(got.heads.every(({ target }) => target === '/ws'));
    assert.doesNotMatch(got.rest, /secret/);
  });

  await proxied.test('takes what comes behind the 101 for frames, and a request there for a bad one', async (run) => {
    const got = await takeHandshakes(run);
    const client = await run.send(handshake());
    assert.equal((await client.readResponse()).status, 101);
    client.send(SECRET);
    await client.closed;
    await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
    assert.deepEqual(
      got.heads.map(({ target }) => target),
      ['/ws'],
    );
    assert.doesNotMatch(got.rest, /secret/);
  });

  await proxied.test('reads no request behind a handshake that the app has not answered yet', async (run) => {
    const targets: string[] = [];
    await run.script(async (connection) => {
      targets.push((await connection.readRequestHead()).target);
      await connection.closed;
    });
    const client = await run.send(handshake());
    await run.app.until((app) => app.requests === 1, 'the handshake at the app');
    client.send(SECRET);
    await client.closed;
    await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
    assert.equal(client.receivedLength, 0);
    assert.deepEqual(targets, ['/ws']);
  });

  for (const [name, changes] of [
    ['to another protocol', { Upgrade: 'h2c' }],
    ['to TLS', { Upgrade: 'TLS/1.0' }],
    ['that Connection does not name', { Connection: 'keep-alive' }],
    ['that contradicts a close', { Connection: 'close, Upgrade' }],
  ] as const) {
    await proxied.test(`hands on a request for an upgrade ${name} without it`, async (run) => {
      const request = await forward(
        run,
        handshake({ ...changes, 'Sec-WebSocket-Key': '', 'Sec-WebSocket-Version': '' }),
      );
      assert.deepEqual(fieldsOf(request), []);
    });
  }
});

test('a handshake at the app', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('has the fields that every request gets, and those of the hop once', async (run) => {
    const got = await takeHandshakes(run);
    const client = await run.send(
      handshake({
        Connection: 'keep-alive, Upgrade, X-Hop',
        'X-Hop': '1',
        'X-Forwarded-For': '1.1.1.1',
        'X-Forwarded-Proto': 'https',
        Origin: 'https://a.example',
        Cookie: 'a=1',
        'Proxy-Authorization': 'x',
      }),
    );
    assert.equal((await client.readResponse()).status, 101);
    const { headers } = got.heads[0]!;
    assert.equal(headers.get('host'), 'a.example');
    assert.equal(headers.get('x-forwarded-for'), '1.1.1.1, 127.0.0.1');
    assert.equal(headers.get('x-forwarded-proto'), 'https');
    assert.equal(headers.get('x-forwarded-port'), '443');
    assert.equal(headers.get('origin'), 'https://a.example');
    assert.equal(headers.get('cookie'), 'a=1');
    assert.equal(headers.get('upgrade'), 'websocket');
    assert.equal(headers.get('connection')!.toLowerCase(), 'upgrade');
    assert.equal(headers.get('sec-websocket-version'), '13');
    assert.notEqual(headers.get('sec-websocket-key'), KEY);
    for (const name of ['x-hop', 'proxy-authorization', 'keep-alive']) assert.equal(headers.get(name), undefined, name);
  });

  // As in header-injection.test.ts: written as latin-1, U+010D and U+010A would be CR and LF.
  const poison = `a\xc4\x8d\xc4\x8aX-Injected: 1`;
  for (const field of [
    'X-A',
    'Cookie',
    'Origin',
    'User-Agent',
    'X-Forwarded-For',
    'Sec-WebSocket-Protocol',
    'Sec-WebSocket-Extensions',
  ]) {
    await proxied.test(`gets no line that a char above U+00FF in ${field} would make`, async (run) => {
      const got = await takeHandshakes(run);
      const client = await run.send(handshake({ [field]: poison }));
      const { status } = await client.readResponse();
      assert.ok([101, 400].includes(status), `${status}`);
      assert.equal(got.heads.length, status === 101 ? 1 : 0);
      for (const { headers, rawHead } of got.heads) {
        assert.deepEqual(headers.all('x-injected'), []);
        assert.doesNotMatch(rawHead.toString('latin1').replaceAll('\r\n', ''), /[\r\n\0]/);
      }
    });
  }

  await proxied.test('gets the target byte for byte', async (run) => {
    const got = await takeHandshakes(run);
    const target = '/ws//a?b=%2F&\xc4\x8d\xc4\x8a';
    const client = await run.send(handshake({}, `GET ${target} HTTP/1.1`));
    assert.equal((await client.readResponse()).status, 101);
    assert.equal(got.heads[0]!.target, target);
  });
});

test('a handshake by plain http', async (t) => {
  const env = { UWSRP_FORCE_SSL: 'on', UWSRP_CANONICAL_HOST: 'a.example', UWSRP_HEALTH_PATH: '/up' };
  const proxied = await startProxiedApp(t, { env });

  for (const proto of ['http', 'ws']) {
    await proxied.test(`is redirected when SSL is forced (${proto})`, async (run) => {
      const seen = await record(run);
      const client = await run.send(handshake({ 'X-Forwarded-Proto': proto }) + SECRET);
      const response = await client.readToEnd();
      assert.doesNotMatch(response.toString('latin1'), / 101 /);
      await assertUntouched(run, seen);

      const other = await run.send(handshake({ 'X-Forwarded-Proto': proto }));
      const { status, headers } = await other.readResponse();
      assert.equal(status, 301);
      assert.equal(headers.get('location'), 'https://a.example/ws');
    });
  }

  await proxied.test('is served when the client used https', async (run) => {
    await takeHandshakes(run);
    for (const proto of ['https', 'wss']) {
      const client = await run.send(handshake({ 'X-Forwarded-Proto': proto }));
      assert.equal((await client.readResponse()).status, 101);
    }
  });
});
