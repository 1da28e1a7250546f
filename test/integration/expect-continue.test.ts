import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, fieldsOf, head, record, refuse } from '../helpers/request-case.ts';

test('Expect', async (t) => {
  const proxied = await startProxiedApp(t);

  for (const [name, field, body] of [
    ['a length', 'Content-Length: 10', '0123456789'],
    ['chunks', 'Transfer-Encoding: chunked', 'a\r\n0123456789\r\n0\r\n\r\n'],
  ] as const) {
    await proxied.test(
      `100-continue with ${name} gets one 100 before the body, and does not reach the app`,
      async (run) => {
        const seen = await record(run);
        const client = await run.send(head('POST / HTTP/1.1', 'Expect: 100-continue', field));
        assert.equal((await client.readResponse()).status, 100);
        assert.equal(client.unread.length, 0);
        client.send(body);
        assert.equal((await client.readResponse()).status, 200);
        assert.equal(seen[0]!.body.toString(), '0123456789');
        assert.deepEqual(fieldsOf(seen[0]!), [field]);
        client.send(head('GET /next HTTP/1.1'));
        assert.equal((await client.readResponse()).status, 200);
      },
    );
  }

  await proxied.test('100-continue gets one 100 only when the app sends its own too', async (run) => {
    await run.script(async (connection) => {
      const request = await connection.readRequestHead();
      assert.equal(request.headers.get('expect'), undefined);
      connection.send('HTTP/1.1 100 Continue\r\n\r\n');
      await connection.readRequestBody(request);
      connection.send('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const client = await run.send(head('PUT / HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 2'));
    assert.equal((await client.readResponse()).status, 100);
    client.send('ok');
    assert.equal((await client.readResponse()).status, 204);
  });

  await proxied.test('100-continue whose body comes without waiting is served', async (run) => {
    const seen = await record(run);
    const client = await run.send(`${head('POST / HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 5')}hello`);
    assert.equal((await client.readResponse()).status, 100);
    assert.equal((await client.readResponse()).status, 200);
    assert.equal(seen[0]!.body.toString(), 'hello');
  });

  // uWebSockets.js answers once for each route that looks at the request, and those of GET are two: WebSockets, and all
  // else. A client has to read any number of them (RFC 9110 section 15.2).
  await proxied.test('100-continue of GET gets two, and is served', async (run) => {
    const seen = await record(run);
    for (const [field, body] of [
      [[], ''],
      [['Content-Length: 5'], 'hello'],
    ] as const) {
      const client = await run.send(head('GET / HTTP/1.1', 'Expect: 100-continue', ...field));
      assert.equal((await client.readResponse()).status, 100);
      assert.equal((await client.readResponse()).status, 100);
      client.send(body);
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(seen.at(-1)!.body.toString(), body);
      assert.deepEqual(fieldsOf(seen.at(-1)!), field);
    }
  });

  // uWebSockets.js knows the one spelling; a client that waits sends its body after a while (RFC 9110 section 10.1.1).
  await proxied.test('100-Continue in another case gets no 100, and its body is served', async (run) => {
    const seen = await record(run);
    const client = await run.send(head('POST / HTTP/1.1', 'Expect: 100-Continue', 'Content-Length: 5'));
    await run.app.until((app) => app.requests === 1, 'the head at the app');
    assert.equal(client.receivedLength, 0);
    client.send('hello');
    assert.equal((await client.readResponse()).status, 200);
    assert.equal(seen[0]!.body.toString(), 'hello');
    assert.deepEqual(fieldsOf(seen[0]!), ['Content-Length: 5']);
  });

  for (const value of ['something-else', '', '100-continue, x', '200-ok', '100-continue;q=1']) {
    await proxied.test(`"${value}" gets 417, and nothing reaches the app`, async (run) => {
      await refuse(run, head('POST / HTTP/1.1', `Expect: ${value}`, 'Content-Length: 0'), 417);
    });
  }

  await proxied.test('given twice gets 417 after the 100', async (run) => {
    const seen = await record(run);
    const fields = ['Expect: 100-continue', 'Expect: 100-continue', 'Content-Length: 5'];
    const client = await run.send(head('POST / HTTP/1.1', ...fields));
    assert.equal((await client.readResponse()).status, 100);
    assert.equal((await client.readResponse()).status, 417);
    await client.closed;
    await assertUntouched(run, seen);
  });

  await proxied.test('100-continue of a refused request gets the refusal after the 100', async (run) => {
    const seen = await record(run);
    const client = await run.send(head('POST / HTTP/1.1', 'Expect: 100-continue', 'Transfer-Encoding: gzip'));
    assert.equal((await client.readResponse()).status, 100);
    assert.equal((await client.readResponse()).status, 400);
    await client.closed;
    await assertUntouched(run, seen);
  });

  await proxied.test('100-continue gets the answer of an app that wants no body', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    const client = await run.send(head('POST / HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 5'));
    assert.equal((await client.readResponse()).status, 100);
    assert.equal((await client.readResponse()).status, 401);
  });
});
