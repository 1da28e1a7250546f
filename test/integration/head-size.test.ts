import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, forward, head, record, refuse } from '../helpers/request-case.ts';

const LIMIT = 8 * 1024;

test('the size of a request head', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_MAX_HEADER_SIZE: '8kb' } });

  /** Heads of exactly this many bytes. */
  const heads: Readonly<Record<string, (bytes: number) => string>> = {
    'a long path': (bytes) => padded(bytes, (padding) => head(`GET /${padding} HTTP/1.1`)),
    'a long query': (bytes) => padded(bytes, (padding) => head(`GET /?${padding} HTTP/1.1`)),
    'a long field': (bytes) => padded(bytes, (padding) => head('GET / HTTP/1.1', `X-A: ${padding}`)),
    'a long cookie': (bytes) => padded(bytes, (padding) => head('GET / HTTP/1.1', `Cookie: ${padding}`)),
    'many fields': (bytes) =>
      padded(bytes, (padding) =>
        head('GET / HTTP/1.1', ...Array(40).fill(`X-A: ${'a'.repeat(150)}`), `X-B: ${padding}`),
      ),
  };

  for (const [name, build] of Object.entries(heads)) {
    await proxied.test(`may be the limit (${name})`, async (run) => {
      const request = build(LIMIT);
      assert.equal(request.length, LIMIT);
      await forward(run, request);
    });

    // The blanks before values are not counted by the older build: at most one for each of 98 fields.
    for (const bytes of [LIMIT + 99, LIMIT + 1000, 3 * LIMIT]) {
      await proxied.test(`may not be ${bytes} bytes (${name})`, async (run) => {
        await refuse(run, build(bytes), 431);
      });
    }

    // The older build knows no path that is over the limit for one.
    await proxied.test(`may not be far more (${name})`, async (run) => {
      await refuse(run, build(50 * LIMIT), [431, 505]);
    });
  }

  await proxied.test('may not be more when it comes in pieces', async (run) => {
    const seen = await record(run);
    const client = await run.connect();
    const request = heads['many fields']!(LIMIT + 1000);
    for (let from = 0; from < request.length; from += 1024) {
      await client.sendAndFlush(request.slice(from, from + 1024));
      // Answered after the piece was read.
      await assertUntouched(run, seen, seen.length);
    }
    assert.equal((await client.readResponse()).status, 431);
    await client.closed;
    assert.ok(seen.every(({ target }) => target === '/probe'));
  });
});

function padded(bytes: number, build: (padding: string) => string): string {
  return build('a'.repeat(bytes - build('').length));
}
