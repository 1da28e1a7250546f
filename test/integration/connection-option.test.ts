import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { head, record } from '../helpers/request-case.ts';
import { respond, respondChunked } from '../helpers/scripted-app.ts';

test('the Connection field of a request', async (t) => {
  const proxied = await startProxiedApp(t);

  /** Sends a request with these lines, and reads its answer. */
  const ask = async (run: ProxiedCase, lines: readonly string[], line = 'GET / HTTP/1.1') => {
    const client = await run.send(head(line, ...lines));
    const response = await client.readResponse({ method: line.slice(0, line.indexOf(' ')) });
    return { client, response };
  };

  for (const lines of [
    ['Connection: close'],
    ['Connection: Close'],
    ['Connection: CLOSE'],
    ['Connection:  close '],
    ['Connection: close, TE', 'TE: trailers'],
    ['Connection: x-hop, close'],
    ['Connection: keep-alive, close'],
    ['Connection: ,close,'],
    ['Connection: keep-alive', 'Connection: close'],
    ['Connection: close', 'Connection: keep-alive'],
    ['Connection:', 'Connection: close'],
  ]) {
    await proxied.test(
      `ends the connection with the answer, and the answer says so (${lines.join(' | ')})`,
      async (run) => {
        await record(run);
        const { client, response } = await ask(run, lines);
        assert.equal(response.status, 200);
        assert.equal(response.headers.get('connection'), 'close');
        assert.equal(await client.closed, 'fin');
      },
    );
  }

  // uWebSockets.js closes for any value of five bytes. A client that is not told would lose its next request.
  for (const value of ['x-hop', 'abcde', 'a, bc', 'TE, x']) {
    await proxied.test(`of five bytes (${value}) ends the connection too, and the answer says so`, async (run) => {
      await record(run);
      for (const method of ['GET', 'POST', 'HEAD']) {
        const { client, response } = await ask(run, [`Connection: ${value}`], `${method} / HTTP/1.1`);
        assert.equal(response.headers.get('connection'), 'close');
        assert.equal(await client.closed, 'fin');
      }
    });
  }

  for (const lines of [
    ['Connection: keep-alive'],
    ['Connection: Keep-Alive'],
    ['Connection:'],
    ['Connection: x-close'],
    ['Connection: closed'],
    ['Connection: x', 'Connection: abcde'],
    [],
  ]) {
    await proxied.test(`keeps the connection (${lines.join(' | ') || 'none'})`, async (run) => {
      await record(run);
      const { client, response } = await ask(run, lines);
      assert.equal(response.headers.get('connection'), undefined);
      client.send(head('GET /again HTTP/1.1', ...lines));
      assert.equal((await client.readResponse()).status, 200);
    });
  }

  for (const [name, answer, length] of [
    ['a large body', respond('x'.repeat(200_000)), 200_000],
    ['a chunked body', respondChunked(['hello', ' ', 'world']), 11],
    ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', 0],
  ] as const) {
    await proxied.test(`is obeyed with ${name}, which arrives whole`, async (run) => {
      await run.script(async (connection) => {
        await connection.readRequest();
        connection.send(answer);
      });
      const { client, response } = await ask(run, ['Connection: close']);
      assert.equal(response.body.length, length);
      assert.equal(response.headers.get('connection'), 'close');
      assert.equal(await client.closed, 'fin');
    });
  }

  await proxied.test('is obeyed by the answers of uwsrp itself', async (run) => {
    await run.script((connection) => connection.reset());
    const { client, response } = await ask(run, ['Connection: close']);
    assert.equal(response.status, 502);
    assert.equal(response.headers.get('connection'), 'close');
    assert.equal(await client.closed, 'fin');
  });

  await proxied.test('does not reach the app, whose connection is kept', async (run) => {
    const seen = await record(run);
    for (let index = 0; index < 3; index += 1) {
      const { client } = await ask(run, ['Connection: close']);
      await client.closed;
    }
    assert.deepEqual(
      seen.map(({ headers }) => headers.get('connection')),
      [undefined, undefined, undefined],
    );
    assert.equal(run.app.accepted.length, 1);
  });
});
