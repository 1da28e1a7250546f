import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, forward, head, record, refuse } from '../helpers/request-case.ts';
import type { AppRequest } from '../helpers/scripted-app.ts';

/**
 * Chars whose code ends in 0D, 0A or 00: written as latin-1 they would become CR, LF or NUL, and begin a line of their
 * own at the app. As UTF-8 none of their bytes is a control byte, so uWebSockets.js lets them through.
 */
const POISON = [
  ...['\u010d\u010a', '\u010d', '\u010a', '\u0d0d\u0a0a', '\uff0d\uff0a', '\u0100'],
  // The second half of each surrogate pair ends in 0A and 0D.
  '\u{1f60a}\u{1f60d}',
].map((text) => Buffer.from(text, 'utf8').toString('latin1'));

/** What the attacker wants to be a field of its own, or a request. */
const INJECTED = 'X-Injected: 1';

/** That the head at the app holds these bytes as they were sent, and no line that nobody sent. */
function assertIntact(request: AppRequest, bytes: string): void {
  const raw = request.rawHead.toString('latin1');
  assert.ok(raw.includes(bytes), `the bytes are not the same: ${JSON.stringify(raw)}`);
  assert.deepEqual(request.headers.all('x-injected'), []);
  assert.doesNotMatch(raw.replaceAll('\r\n', ''), /[\r\n\0]/);
}

test('header injection by chars above U+00FF', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: { UWSRP_ACCESS_LOG: 'all', UWSRP_CLIENT_IP_HEADER: 'X-Edge-IP', UWSRP_LOG_LEVEL: 'info' },
  });

  const fields = [
    ...[
      'X-A',
      'Cookie',
      'User-Agent',
      'Accept',
      'Authorization',
      'Forwarded',
      'X-Real-IP',
      'X-Edge-IP',
      'Via',
      'Origin',
    ],
    ...[
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Forwarded-Host',
      'X-Forwarded-Port',
      'X-Forwarded-Prefix',
      'X-Request-Start',
    ],
  ];
  for (const field of fields) {
    await proxied.test(`changes nothing in ${field}, in its first line or its second`, async (run) => {
      const seen = await record(run);
      const client = await run.connect();
      for (const bytes of POISON) {
        const value = `a${bytes}${INJECTED}`;
        for (const lines of [[value], ['b', value]]) {
          client.send(head('GET / HTTP/1.1', ...lines.map((line) => `${field}: ${line}`)));
          assert.equal((await client.readResponse()).status, 200);
          assertIntact(seen.at(-1)!, value);
        }
      }
    });
  }

  await proxied.test('changes nothing in path and query', async (run) => {
    for (const bytes of POISON) {
      const target = `/${bytes}X-Injected:1?${bytes}X-Injected:1`;
      assertIntact(await forward(run, head(`GET ${target} HTTP/1.1`)), ` ${target} `);
    }
  });

  await proxied.test('hides nothing from the names in Connection', async (run) => {
    for (const bytes of POISON) {
      const request = await forward(run, head('GET / HTTP/1.1', `Connection: x${bytes}${INJECTED}, x-hop`, 'X-Hop: 1'));
      assert.doesNotMatch(request.rawHead.toString('latin1'), /inject|x-hop/i);
    }
  });

  for (const [what, build] of [
    ['Host', (bytes: string) => head('GET / HTTP/1.1', `Host: a${bytes}b`)],
    ['Content-Length', (bytes: string) => head('POST / HTTP/1.1', `Content-Length: 1${bytes}1`)],
    ['Transfer-Encoding', (bytes: string) => head('POST / HTTP/1.1', `Transfer-Encoding: chunked${bytes}x`)],
    ['Expect', (bytes: string) => head('GET / HTTP/1.1', `Expect: 100-continue${bytes}x`)],
    ['the method', (bytes: string) => head(`GE${bytes}T / HTTP/1.1`)],
  ] as const) {
    await proxied.test(`is refused in ${what}`, async (run) => {
      for (const bytes of POISON) await refuse(run, build(bytes), [400, 417, 505]);
    });
  }

  await proxied.test('keeps every 2-byte and 3-byte char of a value', async (run) => {
    const seen = await record(run);
    const client = await run.connect();
    for (let from = 0x80; from < 0x10000; from += 0x1000) {
      const chars: string[] = [];
      for (let code = from; code < Math.min(from + 0x1000, 0x10000); code += 7) {
        if (code < 0xd800 || code > 0xdfff) chars.push(String.fromCharCode(code));
      }
      const bytes = Buffer.from(`<${chars.join('')}>`, 'utf8').toString('latin1');
      client.send(head('GET / HTTP/1.1', `X-A: ${bytes}`));
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(seen.at(-1)!.headers.get('x-a'), bytes);
    }
  });

  await proxied.test('writes every request of the log in one line, with nothing of the query', async (run) => {
    await refuse(run, head('GET /log\xc4\x8d\xc4\x8a{"level":60}?secret#x HTTP/1.1'));
    const line = await run.uwsrp.waitForLog(({ path }) => String(path).startsWith('/log'), 'of the refused request');
    assert.equal(line.level === 60, false);
    assert.doesNotMatch(run.uwsrp.stdout, /secret/);
  });
});

test('header injection by control bytes', async (t) => {
  const proxied = await startProxiedApp(t);
  const CONTROLS = [...Array.from({ length: 32 }, (_, index) => index), 127].map((code) => String.fromCharCode(code));

  for (const [where, build, allowed] of [
    ['a value', (byte: string) => head('GET / HTTP/1.1', `X-A: a${byte}${INJECTED}`), '\t'],
    ['a name', (byte: string) => head('GET / HTTP/1.1', `X-A${byte}B: 1`), ''],
    ['Host', (byte: string) => head('GET / HTTP/1.1', `Host: a${byte}b`), ''],
    ['a path', (byte: string) => head(`GET /a${byte}b HTTP/1.1`), ''],
    ['a query', (byte: string) => head(`GET /?a${byte}b HTTP/1.1`), ''],
    ['a method', (byte: string) => head(`GE${byte}T / HTTP/1.1`), ''],
    ['a version', (byte: string) => head(`GET / HTTP/1.1${byte}`), ''],
  ] as const) {
    await proxied.test(`lets none of them through in ${where}`, async (run) => {
      const seen = await record(run);
      for (const byte of CONTROLS) if (byte !== allowed) await run.send(build(byte));
      await assertUntouched(run, seen);
    });
  }
});
