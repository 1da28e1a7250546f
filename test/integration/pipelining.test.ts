import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { assertUntouched, head, record } from '../helpers/request-case.ts';
import { respond } from '../helpers/scripted-app.ts';

// uWebSockets.js refuses a request behind one that is not answered yet, by closing the connection without a word. A
// client that pipelines has to send such requests again (RFC 9112 section 9.3.2), so nothing is lost or mixed up.
test('a request behind one that is not answered yet', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('closes the connection when both come at once, and never reaches the app', async (run) => {
    const targets: string[] = [];
    await run.script(async (connection) => {
      targets.push((await connection.readRequest()).target);
      await connection.closed;
    });
    const client = await run.send(head('GET /1 HTTP/1.1') + head('GET /2 HTTP/1.1'));
    await client.closed;
    assert.equal(client.receivedLength, 0);
    const seen = await record(run);
    await assertUntouched(run, seen);
    assert.ok(!targets.includes('/2'));
  });

  await proxied.test(
    'closes the connection when it comes later, and takes the request before it from the app',
    async (run) => {
      const targets: string[] = [];
      await run.script(async (connection) => {
        targets.push((await connection.readRequest()).target);
        await connection.closed;
      });
      const client = await run.send(head('GET /1 HTTP/1.1'));
      await run.app.until((app) => app.requests === 1, 'the first request at the app');
      client.send(head('GET /2 HTTP/1.1'));
      await client.closed;
      assert.equal(client.receivedLength, 0);
      await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
      assert.deepEqual(targets, ['/1']);
    },
  );

  await proxied.test('cuts a response that has begun, and never looks like a part of it', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      await connection.closed;
    });
    const client = await run.send(head('GET /1 HTTP/1.1'));
    assert.equal((await client.readResponseHead()).status, 200);
    assert.equal((await client.readExactly(5)).toString(), 'hello');
    client.send(head('GET /2 HTTP/1.1'));
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('is served when it comes after the answer, again and again', async (run) => {
    const seen = await record(run);
    const client = await run.connect();
    for (let index = 0; index < 50; index += 1) {
      client.send(head(`GET /${index} HTTP/1.1`));
      assert.equal((await client.readResponse()).status, 200);
    }
    assert.deepEqual(
      seen.map(({ target }) => target),
      Array.from({ length: 50 }, (_, index) => `/${index}`),
    );
  });

  await proxied.test('gets no answer of another client', async (run) => {
    await run.script(async (connection) => {
      const { target } = await connection.readRequest();
      if (target === '/2') connection.send(respond('two'));
      else await connection.closed;
    });
    const first = await run.send(head('GET /1 HTTP/1.1'));
    await run.app.until((app) => app.requests === 1, 'the first request at the app');
    const second = await run.send(head('GET /2 HTTP/1.1'));
    first.send(head('GET /3 HTTP/1.1'));
    assert.equal((await second.readResponse()).body.toString(), 'two');
    await first.closed;
    assert.equal(first.receivedLength, 0);
  });
});
