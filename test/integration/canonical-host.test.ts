import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, forward, head, record } from '../helpers/request-case.ts';

test('the canonical host', async (t) => {
  const env = { UWSRP_CANONICAL_HOST: 'www.a.example', UWSRP_FORCE_SSL_EXEMPT: '/exempt', UWSRP_HEALTH_PATH: '/up' };
  const warmUp = head('GET / HTTP/1.1', 'Host: www.a.example', 'X-Forwarded-Proto: https');
  const plain = await startProxiedApp(t, { env, warmUp });
  const forced = await startProxiedApp(t, { env: { ...env, UWSRP_FORCE_SSL: 'on' }, warmUp });

  const CANONICAL = 'Host: www.a.example';
  const HTTPS = 'X-Forwarded-Proto: https';
  const HTTP = 'X-Forwarded-Proto: http';

  for (const [proxied, name, request, location] of [
    [
      plain,
      'redirects another host, path and query byte for byte',
      head('GET //x?y=%2F HTTP/1.1'),
      'http://www.a.example//x?y=%2F',
    ],
    [plain, 'keeps https', head('GET /x HTTP/1.1', HTTPS), 'https://www.a.example/x'],
    [
      plain,
      'keeps the port of a plain request',
      head('GET /x HTTP/1.1', 'Host: a.example:8080'),
      'http://www.a.example:8080/x',
    ],
    [plain, 'drops the port 80', head('GET /x HTTP/1.1', 'Host: a.example:80'), 'http://www.a.example/x'],
    [
      plain,
      'drops the port for https',
      head('GET /x HTTP/1.1', 'Host: a.example:80', HTTPS),
      'https://www.a.example/x',
    ],
    [plain, 'redirects an address', head('GET /x HTTP/1.1', 'Host: [::1]'), 'http://www.a.example/x'],
    [
      plain,
      'redirects a name with a dot at its end',
      head('GET /x HTTP/1.1', 'Host: www.a.example.'),
      'http://www.a.example/x',
    ],
    [
      plain,
      'redirects a name that ends alike',
      head('GET /x HTTP/1.1', 'Host: evilwww.a.example'),
      'http://www.a.example/x',
    ],
    [
      plain,
      'is not moved by X-Forwarded-Host',
      head('GET /x HTTP/1.1', 'X-Forwarded-Host: www.a.example'),
      'http://www.a.example/x',
    ],
    [forced, 'redirects to https and the host in one step', head('GET /x HTTP/1.1', HTTP), 'https://www.a.example/x'],
    [
      forced,
      'redirects the canonical host to https',
      head('GET /x HTTP/1.1', CANONICAL, HTTP),
      'https://www.a.example/x',
    ],
    [forced, 'redirects another host that came by https', head('GET /x HTTP/1.1', HTTPS), 'https://www.a.example/x'],
  ] as const) {
    await proxied.test(name, async (run) => {
      const seen = await record(run);
      const client = await run.send(request);
      const response = await client.readResponse();
      assert.equal(response.status, 301);
      assert.equal(response.headers.get('location'), location);
      assert.equal(response.body.length, 0);
      await assertUntouched(run, seen, 0, CANONICAL, HTTPS);
    });
  }

  await plain.test('redirects POST with 308', async (run) => {
    const client = await run.send(head('POST /x HTTP/1.1'));
    assert.equal((await client.readResponse()).status, 308);
  });

  for (const [proxied, name, request] of [
    [plain, 'serves the canonical host', head('GET /x HTTP/1.1', CANONICAL)],
    [plain, 'serves it in any case', head('GET /x HTTP/1.1', 'Host: WWW.A.Example')],
    [
      plain,
      'serves it with any port, so that a router that changes it makes no loop',
      head('GET /x HTTP/1.1', `${CANONICAL}:8080`),
    ],
    [plain, 'serves another host on an exempt path', head('GET /exempt?a HTTP/1.1')],
    [forced, 'serves the canonical host that came by https', head('GET /x HTTP/1.1', CANONICAL, HTTPS)],
    [forced, 'serves another host on an exempt path by http', head('GET /exempt HTTP/1.1', HTTP)],
  ] as const) {
    await proxied.test(name, async (run) => {
      await forward(run, request);
    });
  }

  await plain.test('answers the health path for any host', async (run) => {
    const client = await run.send(head('GET /up HTTP/1.1', 'Host: 10.0.0.7:1234'));
    assert.equal((await client.readResponse()).status, 200);
  });

  await plain.test('refuses a host that is none', async (run) => {
    const seen = await record(run);
    const client = await run.send(head('GET /x HTTP/1.1', 'Host: a/b'));
    const response = await client.readResponse();
    assert.equal(response.status, 400);
    assert.equal(response.headers.get('location'), undefined);
    await client.closed;
    await assertUntouched(run, seen, 0, CANONICAL);
  });
});
