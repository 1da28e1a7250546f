import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedApp, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawResponse } from '../helpers/raw-socket.ts';
import { assertUntouched, forward, head, record, refuse } from '../helpers/request-case.ts';
import { respond } from '../helpers/scripted-app.ts';
import { hasNewerBuild } from '../helpers/target.ts';

const HTTP = 'X-Forwarded-Proto: http';

/** Sends a request that must be redirected, and that the app must not see. */
async function redirect(run: ProxiedCase, request: string): Promise<RawResponse> {
  const seen = await record(run);
  const client = await run.send(request);
  const response = await client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
  assert.ok([301, 308].includes(response.status), `${response.status} ${response.body}`);
  assert.equal(response.body.length, 0);
  await assertUntouched(run, seen, 0, 'X-Forwarded-Proto: https');
  return response;
}

/** A case in which this request is redirected to this place. */
function redirects(proxied: ProxiedApp, name: string, request: string, location: string, status = 301): Promise<void> {
  return proxied.test(name, async (run) => {
    const response = await redirect(run, request);
    assert.equal(response.headers.get('location'), location);
    assert.equal(response.status, status);
  });
}

/** A case in which this request goes to the app. */
function passes(proxied: ProxiedApp, name: string, request: string): Promise<void> {
  return proxied.test(name, async (run) => {
    await forward(run, request);
  });
}

test('force SSL', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: {
      UWSRP_FORCE_SSL: 'on',
      UWSRP_FORCE_SSL_EXEMPT: '/healthz,/.well-known/acme-challenge/x',
      UWSRP_HEALTH_PATH: '/up',
      UWSRP_HSTS: 'max-age=63072000; includeSubDomains; preload',
    },
  });

  const targets = [
    ...[
      '/p/a?x=1&y=%2F',
      '/',
      '/?',
      '/a?',
      '//b.example/x',
      '///',
      '/\\b.example',
      '/a?b=http://c/',
      '/%2f%2fb.example',
      '/%0d%0aX:%201',
    ],
    ...[
      '/a;b,c',
      '/../x',
      '/a@b',
      '/:80',
      '/a?b?c=%',
      '/\xc3\xa9?\xe2\x82\xac',
      '/\xc4\x8d\xc4\x8aX?\xc4\x8d\xc4\x8a',
      '/"<>',
    ],
  ];
  for (const target of targets) {
    await redirects(
      proxied,
      `keeps the target ${JSON.stringify(target)} byte for byte`,
      head(`GET ${target} HTTP/1.1`, HTTP),
      `https://a.example${target}`,
    );
  }

  for (const [method, status] of [
    ...['GET', 'HEAD'].map((name) => [name, 301] as const),
    ...['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'get'].map((name) => [name, 308] as const),
  ]) {
    await redirects(
      proxied,
      `answers ${method} with ${status}`,
      head(`${method} /x HTTP/1.1`, HTTP),
      'https://a.example/x',
      status,
    );
  }

  for (const [host, name] of [
    ['a.example:80', 'a.example'],
    ['a.example:8080', 'a.example'],
    ['a.example:443', 'a.example'],
    ['a.example:', 'a.example'],
    ['A.Example', 'A.Example'],
    ['a.example.', 'a.example.'],
    ['[::1]', '[::1]'],
    ['[::1]:80', '[::1]'],
    ['1.2.3.4:80', '1.2.3.4'],
  ]) {
    await redirects(
      proxied,
      `leaves the port of ${host} out`,
      head('GET /x HTTP/1.1', `Host: ${host}`, HTTP),
      `https://${name}/x`,
    );
  }

  const redirected = ['http', 'HTTP', 'Http', 'http,https', 'http, https', ' http ', ',http', ', ,http', 'ws', 'WS'];
  for (const value of redirected) {
    await redirects(
      proxied,
      `redirects when the scheme is "${value}"`,
      head('GET /x HTTP/1.1', `X-Forwarded-Proto: ${value}`),
      'https://a.example/x',
    );
  }
  await redirects(
    proxied,
    'redirects when the first of two lines says http',
    head('GET /x HTTP/1.1', HTTP, 'X-Forwarded-Proto: https'),
    'https://a.example/x',
  );

  for (const value of [
    'https',
    'HTTPS',
    'https,http',
    'https, http',
    'wss',
    'WSS',
    '',
    ',',
    'ftp',
    'httpx',
    'http/1.1',
    '"http"',
  ]) {
    await passes(
      proxied,
      `redirects nothing when the scheme is "${value}"`,
      head('GET /x HTTP/1.1', `X-Forwarded-Proto: ${value}`),
    );
  }
  await passes(proxied, 'redirects nothing when no scheme is told', head('GET /x HTTP/1.1'));
  await passes(
    proxied,
    'redirects nothing when the first of two lines says https',
    head('GET /x HTTP/1.1', 'X-Forwarded-Proto: https', HTTP),
  );
  await passes(
    proxied,
    'is not moved by other fields that name a scheme',
    head('GET /x HTTP/1.1', 'X-Forwarded-Ssl: off', 'Forwarded: proto=http', 'X-Scheme: http'),
  );

  await proxied.test(
    'tells the app https when the client used it, so that an app that forces SSL too does not loop',
    async (run) => {
      const { headers } = await forward(run, head('GET /x HTTP/1.1', 'X-Forwarded-Proto: https'));
      assert.equal(headers.get('x-forwarded-proto'), 'https');
      assert.equal(headers.get('x-forwarded-port'), '443');
    },
  );

  await proxied.test('redirects to the Host, never to a forwarded one', async (run) => {
    const response = await redirect(
      run,
      head('GET /x HTTP/1.1', HTTP, 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'),
    );
    assert.equal(response.headers.get('location'), 'https://a.example/x');
  });

  for (const host of [
    '',
    'a@b',
    'a/b',
    'a b',
    'a\\b',
    'a?b',
    'a#b',
    'a%0d%0ab',
    'a, b',
    'a:b@c',
    'a..b',
    '[::1',
    'a\xc4\x8d\xc4\x8ab',
    'a"b',
  ]) {
    await proxied.test(`refuses the Host ${JSON.stringify(host)} and reflects it nowhere`, async (run) => {
      const response = await refuse(run, head('GET /x HTTP/1.1', `Host: ${host}`, HTTP));
      assert.equal(response.headers.get('location'), undefined);
    });
  }
  await proxied.test('refuses a request without Host', async (run) => {
    await refuse(run, `GET /x HTTP/1.1\r\n${HTTP}\r\n\r\n`);
  });

  for (const target of ['/healthz', '/healthz?a=1', '/healthz?', '/.well-known/acme-challenge/x']) {
    await passes(proxied, `redirects nothing on the exempt path of ${target}`, head(`GET ${target} HTTP/1.1`, HTTP));
  }
  for (const target of [
    '/healthz/',
    '/healthz/x',
    '/healthzz',
    '/HEALTHZ',
    '//healthz',
    '/%68ealthz',
    '/x/../healthz',
    '/?/healthz',
    '/.well-known/acme-challenge/y',
  ]) {
    await redirects(
      proxied,
      `redirects ${target}, which only looks like an exempt path`,
      head(`GET ${target} HTTP/1.1`, HTTP),
      `https://a.example${target}`,
    );
  }

  await proxied.test('does not redirect the health path', async (run) => {
    const client = await run.send(head('GET /up HTTP/1.1', HTTP));
    assert.equal((await client.readResponse()).status, 200);
  });

  await proxied.test(
    'drops the body of a redirected request, and serves the next one on the connection',
    async (run) => {
      const seen = await record(run);
      for (const [field, body] of [
        ['Content-Length: 5', 'hello'],
        ['Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n'],
      ]) {
        const client = await run.send(head('POST /x HTTP/1.1', HTTP, field!) + body);
        assert.equal((await client.readResponse()).status, 308);
        client.send(head('GET /next HTTP/1.1', 'X-Forwarded-Proto: https'));
        assert.equal((await client.readResponse()).status, 200);
      }
      assert.deepEqual(
        seen.map(({ target }) => target),
        ['/next', '/next'],
      );
    },
  );

  await proxied.test('sends HSTS on https answers, never on http ones', async (run) => {
    const value = 'max-age=63072000; includeSubDomains; preload';
    const cases = [
      ['https', '/x', value],
      ['wss', '/x', value],
      ['http', '/x', undefined],
      ['http', '/healthz', undefined],
      ['ftp', '/x', undefined],
    ] as const;
    await record(run);
    for (const [proto, path, expected] of cases) {
      const client = await run.send(head(`GET ${path} HTTP/1.1`, `X-Forwarded-Proto: ${proto}`));
      assert.equal(
        (await client.readResponse()).headers.get('strict-transport-security'),
        expected,
        `${proto} ${path}`,
      );
    }
    const client = await run.send(head('GET /x HTTP/1.1'));
    assert.equal((await client.readResponse()).headers.get('strict-transport-security'), undefined);
  });

  await proxied.test("leaves the app's own HSTS alone", async (run) => {
    const response = await run.ask(
      respond('', { head: ['strict-transport-security: max-age=0'] }),
      head('GET / HTTP/1.1', 'X-Forwarded-Proto: https'),
    );
    assert.equal(response.headers.get('strict-transport-security'), 'max-age=0');
  });

  await proxied.test('lets no name with an underscore pass for the scheme', async (run) => {
    if (hasNewerBuild) await forward(run, head('GET /x HTTP/1.1', 'X_Forwarded_Proto: http'));
    else assert.equal((await forward(run, head('GET /x HTTP/1.1'))).headers.get('x-forwarded-proto'), 'http');
  });
});

test('strict force SSL', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: { UWSRP_FORCE_SSL: 'strict', UWSRP_FORCE_SSL_EXEMPT: '/healthz' },
    warmUp: head('GET /healthz HTTP/1.1'),
  });

  for (const [name, fields] of [
    ['no scheme is told', []],
    ['the scheme is empty', ['X-Forwarded-Proto:']],
    ['the scheme is unknown', ['X-Forwarded-Proto: ftp']],
    ['the scheme is http', [HTTP]],
  ] as const) {
    await redirects(proxied, `redirects when ${name}`, head('GET /x?y HTTP/1.1', ...fields), 'https://a.example/x?y');
  }
  await passes(proxied, 'redirects nothing that came by https', head('GET /x HTTP/1.1', 'X-Forwarded-Proto: https'));
  await passes(proxied, 'redirects nothing on an exempt path', head('GET /healthz HTTP/1.1'));
});

test('strict force SSL with a peer that is not believed', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: { UWSRP_FORCE_SSL: 'strict', UWSRP_TRUST_PROXY: '10.0.0.0/8', UWSRP_FORCE_SSL_EXEMPT: '/probe' },
    warmUp: head('GET /probe HTTP/1.1'),
  });
  for (const field of [
    'X-Forwarded-Proto: https',
    'Forwarded: proto=https',
    'X-Forwarded-Ssl: on',
    'Front-End-Https: on',
  ]) {
    await redirects(
      proxied,
      `redirects whatever it says (${field})`,
      head('GET /x HTTP/1.1', field),
      'https://a.example/x',
    );
  }
});

test('force SSL with a peer that is not believed', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: { UWSRP_FORCE_SSL: 'on', UWSRP_TRUST_PROXY: '10.0.0.0/8', UWSRP_HSTS: 'max-age=1' },
  });
  await passes(proxied, 'cannot be moved to redirect', head('GET /x HTTP/1.1', HTTP));
  await proxied.test('cannot be moved to send HSTS', async (run) => {
    const response = await run.ask(respond(''), head('GET / HTTP/1.1', 'X-Forwarded-Proto: https'));
    assert.equal(response.headers.get('strict-transport-security'), undefined);
  });
});
