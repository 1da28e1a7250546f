import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import {
  assertUntouched,
  forEachCase,
  forward,
  head,
  leaveUnanswered,
  PROBE,
  record,
  refuse,
} from '../helpers/request-case.ts';
import { hasNewerBuild } from '../helpers/target.ts';

/** What uWebSockets.js answers by itself for a request line that it does not take for one. */
const CANNED = 505;

test('the request line', async (t) => {
  const proxied = await startProxiedApp(t);

  const targets = [
    '/',
    '/?',
    '/a',
    '/a?',
    '/a??b=1?',
    '/a?b=1&b=2&&c',
    '/a?b=http://c.example/?d',
    '/a?/../b',
    '//x//y',
    '///',
    '/a/./b/../c/.',
    '/../../etc/passwd',
    '/%2e%2e/%2F%5c',
    '/%00%0d%0a%20?%00%0d%0a',
    '/%',
    '/%zz%4',
    '/a;b=c,d;e',
    "/-._~!$&'()*+,;=:@",
    '/:80/@host',
    '/a\\b|^`{}"<>[]',
    '/http://h.example/',
    '/*',
    '/\xc3\xa9/\xe2\x82\xac?q=\xf0\x9f\x98\x80',
    '/\xc4\x8d\xc4\x8a?\xc4\x8d\xc4\x8a',
    '/a\xc2\x80?\xc2\xa0',
  ];
  for (const target of targets) {
    await proxied.test(`hands on the target ${JSON.stringify(target)} byte for byte`, async (run) => {
      assert.equal((await forward(run, head(`GET ${target} HTTP/1.1`))).target, target);
    });
  }

  const methods = [
    ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH', 'PRI'],
    ...['get', 'GeT', 'X', "!#$%&'*+-.^_`|~09AZaz", 'LONG'.repeat(100)],
  ];
  for (const method of methods) {
    await proxied.test(`hands on the method ${method.slice(0, 25)} in its own case`, async (run) => {
      assert.equal((await forward(run, head(`${method} /x HTTP/1.1`))).method, method);
    });
  }

  await proxied.test(
    'reads a request that comes byte by byte, the request line whole on the older build',
    async (run) => {
      const seen = await record(run);
      const client = await run.connect();
      const line = 'PUT /a?b HTTP/1.1\r\n';
      if (hasNewerBuild) for (const char of line) await client.sendAndFlush(char);
      else client.send(line);
      for (const char of 'Host: a.example\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello') await client.sendAndFlush(char);
      assert.equal((await client.readResponse()).status, 200);
      assert.deepEqual(
        seen.map(({ requestLine, body }) => [requestLine, body.toString()]),
        [['PUT /a?b HTTP/1.1', 'hello']],
      );
    },
  );

  const line = 'GET /a?b HTTP/1.1\r\n';
  for (const at of [1, 4, 6, 9, 14, 18]) {
    await proxied.test(
      `waits for the rest of "${line.slice(0, at).trimEnd()}", or refuses it (older build)`,
      async (run) => {
        const seen = await record(run);
        const client = await run.send(line.slice(0, at));
        // Answered behind the first part, so that part was read by itself.
        await assertUntouched(run, seen);
        if (client.receivedLength > 0) {
          assert.ok(!hasNewerBuild);
          assert.equal((await client.readResponse()).status, CANNED);
          return;
        }
        client.send(`${line.slice(at)}Host: a.example\r\n\r\n`);
        assert.equal((await client.readResponse()).status, 200);
        assert.equal(seen.at(-1)!.target, '/a?b');
      },
    );
  }

  await proxied.test('takes a target of 8 KiB whole, in the path and in the query', async (run) => {
    for (const target of [`/${'p'.repeat(8191)}`, `/?${'q'.repeat(8190)}`]) {
      assert.equal((await forward(run, head(`GET ${target} HTTP/1.1`))).target, target);
    }
  });

  await forEachCase(
    proxied,
    {
      'refuses a target with a fragment': head('GET /a#b HTTP/1.1'),
      'refuses a query with a fragment': head('GET /?a#b HTTP/1.1'),
      'refuses DEL in a target': head('GET /a\x7fb HTTP/1.1'),
      'refuses DEL in a query': head('GET /?a\x7fb HTTP/1.1'),
      'refuses a path that is not UTF-8, since its bytes cannot be had': head('GET /\xff HTTP/1.1'),
      'refuses a query that is not UTF-8': head('GET /?\xc4 HTTP/1.1'),
      'refuses an overlong UTF-8 form of LF in a target': head('GET /\xc0\x8a HTTP/1.1'),
      'refuses a surrogate in a target': head('GET /\xed\xa0\x8a HTTP/1.1'),
      'refuses a method with a separator': head('G(T / HTTP/1.1'),
      'refuses a method in quotes': head('"GET" / HTTP/1.1'),
      'refuses a method with a slash': head('HTTP/1.1 / HTTP/1.1'),
    },
    (run, request) => refuse(run, request, 400),
  );

  await forEachCase(
    proxied,
    {
      'refuses a target in absolute form': head('GET http://h.example/p?q HTTP/1.1'),
      'refuses a target in absolute form without a path': head('GET http://h.example HTTP/1.1'),
      'refuses a target in absolute form, scheme in capitals': head('GET HTTP://h.example/ HTTP/1.1'),
      'refuses OPTIONS *': head('OPTIONS * HTTP/1.1'),
      'refuses GET *': head('GET * HTTP/1.1'),
      'refuses CONNECT': head('CONNECT a.example:443 HTTP/1.1'),
      'refuses a target without a slash': head('GET a HTTP/1.1'),
      'refuses a target that is a query only': head('GET ?a HTTP/1.1'),
      'refuses an empty target': head('GET  HTTP/1.1'),
      'refuses a blank in a target': head('GET /a b HTTP/1.1'),
      'refuses a tab in a target': head('GET /a\tb HTTP/1.1'),
      'refuses NUL in a target': head('GET /a\0b HTTP/1.1'),
      'refuses NUL in a query': head('GET /?a\0b HTTP/1.1'),
      'refuses 0x01 in a target': head('GET /a\x01b HTTP/1.1'),
      'refuses a bare LF in a target': head('GET /a\nb HTTP/1.1'),
      'refuses a method outside ASCII': head('G\xc4\x8dT / HTTP/1.1'),
      'refuses NUL in a method': head('G\0T / HTTP/1.1'),
      'refuses a blank before the method': head(' GET / HTTP/1.1'),
      'refuses two blanks before the target': head('GET  / HTTP/1.1'),
      'refuses two blanks behind the target': head('GET /  HTTP/1.1'),
      'refuses tabs for blanks': head('GET\t/\tHTTP/1.1'),
      'refuses a blank behind the version': head('GET / HTTP/1.1 '),
      'refuses bytes behind the version': head('GET / HTTP/1.1x'),
      'refuses the version in lower case': head('GET / http/1.1'),
      'refuses another protocol': head('GET / HTTPS/1.1'),
      'refuses HTTP/1.2': head('GET / HTTP/1.2'),
      'refuses HTTP/1': head('GET / HTTP/1'),
      'refuses HTTP/2.0': head('GET / HTTP/2.0'),
      'refuses the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'refuses HTTP/0.9': 'GET /\r\n\r\n',
      'refuses HTTP/1.0': head('GET / HTTP/1.0'),
      'refuses HTTP/1.0 that wants to keep the connection': head('GET / HTTP/1.0', 'Connection: keep-alive'),
      'refuses HTTP/1.0 without a Host': 'GET / HTTP/1.0\r\n\r\n',
      'refuses a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      'refuses a request line that ends in a bare LF': 'GET / HTTP/1.1\nHost: a.example\r\n\r\n',
      'refuses a request line that ends in a bare CR': 'GET / HTTP/1.1\rHost: a.example\r\n\r\n',
      'refuses a head with bare LF only': 'GET / HTTP/1.1\nHost: a.example\n\n',
      'refuses an empty LF line before the request': `\n${PROBE}`,
    },
    (run, request) => refuse(run, request, CANNED),
  );

  await forEachCase(
    proxied,
    {
      'refuses a bare CR in a target, or never answers (newer build)': head('GET /a\rb HTTP/1.1'),
      // RFC 9112 section 2.2 would have it skipped.
      'refuses an empty line before the request, or never answers (newer build)': `\r\n${PROBE}`,
    },
    async (run, request) => {
      if (hasNewerBuild) await leaveUnanswered(run, request);
      else await refuse(run, request, CANNED);
    },
  );
});
