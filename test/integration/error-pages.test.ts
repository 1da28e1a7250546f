import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { respond } from '../helpers/scripted-app.ts';
import { spawnUwsrp } from '../helpers/uwsrp.ts';

const GARBAGE = 'garbage\r\n\r\n';
const head = (method: string, ...lines: string[]) =>
  `${method} / HTTP/1.1\r\nHost: a.example\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
/** Large enough not to leave in one piece. */
const LARGE = 'Große Seite. '.repeat(18_000);

/** In /tmp, which the image's container has too, and readable for its user. */
function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync('/tmp/error-pages-');
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  chmodSync(folder, 0o755);
  return folder;
}

test('UWSRP_ERROR_PAGES', async (t) => {
  const folder = folderOf(t, {
    '502.html': '<p>Café geschlossen\n',
    '5xx.json': '{"seite": "für alle 5xx"}',
    '400.html': LARGE,
    '413.html': LARGE,
    '404.html': 'never ours',
  });
  const env = { UWSRP_ERROR_PAGES: folder, UWSRP_MAX_BODY_SIZE: '1kb', UWSRP_ACCESS_LOG: 'all' };
  const proxied = await startProxiedApp(t, { env });

  await proxied.test('are what the client reads, in UTF-8, with status and type of the error', async (run) => {
    const response = await run.ask(GARBAGE);
    assert.equal(response.status, 502);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.body.toString(), '<p>Café geschlossen\n');
  });

  await proxied.test('are chosen for JSON by themselves', async (run) => {
    const response = await run.ask(GARBAGE, head('GET', 'Accept: application/json'));
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(response.body.toString(), '{"seite": "für alle 5xx"}');
  });

  await proxied.test('have their length and no body for HEAD', async (run) => {
    const response = await run.ask(GARBAGE, head('HEAD'));
    assert.equal(response.headers.get('content-length'), String(Buffer.byteLength('<p>Café geschlossen\n')));
    assert.equal(response.body.length, 0);
  });

  await proxied.test('leave errors without a page as they are', async (run) => {
    const client = await run.send(head('GET', 'Expect: x'));
    const response = await client.readResponse();
    assert.equal(response.status, 417);
    assert.match(response.body.toString(), /The expectation cannot be met/);
  });

  await proxied.test("leave the app's own errors alone", async (run) => {
    for (const status of ['404 Not Found', '502 Bad Gateway']) {
      const response = await run.ask(respond("the app's", { status }));
      assert.equal(response.body.toString(), "the app's");
    }
  });

  for (const [what, request, status] of [
    ['a refused request', head('GET', 'Transfer-Encoding: gzip'), 400],
    ['a body that is too large', `${head('POST', 'Content-Length: 5000')}${'b'.repeat(5000)}`, 413],
  ] as const) {
    await proxied.test(`arrive whole when they are large, for ${what}, though the connection ends`, async (run) => {
      const client = await run.connect();
      client.pause();
      client.send(request);
      // Whatever is sent meanwhile stays with the kernel, as much as it takes.
      await run.uwsrp.waitForLog((line) => line.status === status, 'of the request');
      client.resume();
      const response = await client.readResponse();
      assert.equal(response.status, status);
      assert.equal(response.body.toString().trimEnd(), LARGE.trimEnd());
    });
  }
});

test('a mistake in the folder ends the boot, and fails the check', async (t) => {
  const folder = folderOf(t, { '502.htm': 'x', '503.json': 'x' });
  for (const args of [['true'], ['--check']]) {
    const uwsrp = spawnUwsrp(t, { args, env: { UWSRP_ERROR_PAGES: folder } });
    assert.equal((await uwsrp.exited).code, 78);
    assert.match(uwsrp.stderr, /^uwsrp: UWSRP_ERROR_PAGES: "502\.htm" is no page .*\n.*"503\.json" is not JSON/);
  }
});
