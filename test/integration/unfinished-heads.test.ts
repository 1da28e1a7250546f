import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { head, record } from '../helpers/request-case.ts';

/** uWebSockets.js allows 10 s, in steps of 4. */
const LIMIT_MS = 20_000;

test('heads that never end', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('are waited for some 12 s, and their connections then closed without a word', async (run) => {
    const seen = await record(run);
    const unfinished = [
      '',
      'GET ',
      'GET / HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nHost: a.exa',
      'GET / HTTP/1.1\r\nHost: a.example\r\n',
      'GET / HTTP/1.1\r\nHost: a.example\r\n\r',
      head('GET / HTTP/1.1', 'X-A: a\rb'),
      head('GET / HTTP/1.1', 'X-A: a', 'not a field'),
      head('GET / HTTP/1.1', ...Array.from({ length: 120 }, (_, index) => `X-${index}: 1`)),
    ];
    const clients = await Promise.all(unfinished.map((bytes) => run.send(bytes)));
    for (const client of clients) {
      const received = (await client.readToEnd(LIMIT_MS)).toString('latin1');
      assert.match(received, /^($|HTTP\/1\.1 (400|431|505) )/);
    }
    assert.equal(seen.length, 0);
    assert.equal(run.app.accepted.length, 0);
  });
});
