import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepAliveAgent, request } from '../helpers/http.ts';
import { assertErrorAnswer, GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { type AppRequest, eachRequest, respond, type ScriptedConnection } from '../helpers/scripted-app.ts';
import { withTimeout } from '../helpers/timeout.ts';

const head = (method: string, more = '') => `${method} / HTTP/1.1\r\nHost: a.example\r\n${more}\r\n`;

/**
 * The first request is answered, so that its connection is a used one; what happens to the next request there, `then`
 * decides. Other connections answer everything. Gives every request after the first that the app read.
 */
async function afterOneAnswer(
  run: ProxiedCase,
  then: (connection: ScriptedConnection) => void | Promise<void>,
): Promise<AppRequest[]> {
  const seen: AppRequest[] = [];
  await run.script(async (connection, index) => {
    if (index > 0) {
      return eachRequest((request) => {
        seen.push(request);
        return respond('fresh');
      })(connection, index);
    }
    await connection.readRequest();
    connection.send(respond('first'));
    seen.push(await connection.readRequest());
    await then(connection);
  });
  const client = await run.send(GET);
  assert.equal((await client.readResponse()).body.toString(), 'first');
  client.destroy();
  return seen;
}

test('the connections to the app', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('serve one request after the other, of one client and of many', async (run) => {
    const connectionFields: (string | undefined)[] = [];
    await run.script(
      eachRequest(({ headers }) => {
        connectionFields.push(headers.get('connection'));
        return respond('ok');
      }),
    );
    const client = await run.connect();
    for (let count = 0; count < 10; count += 1) {
      client.send(GET);
      await client.readResponse();
    }
    for (let count = 0; count < 10; count += 1) await (await run.send()).readResponse();
    assert.equal(run.app.accepted.length, 1);
    assert.ok(connectionFields.every((value) => value === undefined || value === 'keep-alive'));
  });

  await proxied.test('are as many as there are requests at a time, and one under a small load', async (run) => {
    const held: (() => void)[] = [];
    const used = new Set<number>();
    await run.script(
      eachRequest(async ({ target }, connection) => {
        if (target === '/held') await new Promise<void>((resolve) => held.push(resolve));
        else used.add(connection.index);
        return respond('ok');
      }),
    );
    const clients = await Promise.all(
      Array.from({ length: 8 }, () => run.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')),
    );
    await run.app.until((app) => app.requests === 8, '8 requests at a time');
    assert.equal(run.app.accepted.length, 8);
    for (const release of held) release();
    await Promise.all(clients.map((client) => client.readResponse()));
    for (let count = 0; count < 24; count += 1) {
      const client = clients[count % 8]!;
      client.send(GET);
      await client.readResponse();
    }
    assert.equal(used.size, 1, 'the connection used last is used first');
  });

  await proxied.test(
    'are dropped when idle, sooner when the app announces less time, not later for more',
    async (run) => {
      const announced = ['Keep-Alive: timeout=600, max=9', 'X-None: 1', 'Keep-Alive: timeout=2'];
      const held: (() => void)[] = [];
      await run.script(async (connection, index) => {
        await connection.readRequest();
        await new Promise<void>((resolve) => held.push(resolve));
        connection.send(respond('ok', { head: [announced[index]!] }));
      });
      const clients = [await run.send(), await run.send(), await run.send()];
      await run.app.until((app) => app.requests === 3, 'three requests at a time');
      for (const release of held) release();
      for (const client of clients) await client.readResponse();
      const order: number[] = [];
      await Promise.all(
        run.app.accepted.map(async ({ closed, index }) => {
          assert.equal(await withTimeout(closed, 'an idle connection to be closed', 10_000), 'fin');
          order.push(index);
        }),
      );
      assert.equal(order[0], 2);
    },
  );

  await proxied.test('are not kept when the app says that it keeps them for a second', async (run) => {
    await run.ask(respond('ok', { head: ['Keep-Alive: timeout=1'] }));
    assert.equal(await run.app.accepted[0]!.closed, 'fin');
  });

  await proxied.test('are dropped after an answer with Connection: close, however late the app closes', async (run) => {
    for (const value of ['close', 'Close', 'keep-alive, CLOSE', 'close, X-Hop']) {
      await run.ask(respond('ok', { head: [`Connection: ${value}`] }));
      assert.equal(await run.app.accepted[0]!.closed, 'fin');
    }
  });

  await proxied.test('are skipped when the app closed them while they were idle', async (run) => {
    await run.script(eachRequest(({ body }) => respond(body.toString())));
    for (let count = 0; count < 3; count += 1) {
      // A POST is never sent twice, so no try may be wasted on the closed one.
      const client = await run.send(head('POST', 'Content-Length: 1\r\n').concat(`${count}`));
      assert.equal((await client.readResponse()).body.toString(), `${count}`);
      const connection = run.app.accepted[count]!;
      connection.end();
      await run.app.until((app) => app.connections === 0, 'the idle connection to be closed');
    }
    assert.equal(run.app.requests, 3);
  });

  await proxied.test('may be closed by the app the moment they become idle, at any load', async (run) => {
    await run.script(async (connection) => {
      for (let left = 1 + (connection.index % 3); left > 0; left -= 1) {
        await connection.readRequest();
        connection.send(respond('ok'));
      }
      connection.end();
    });
    const agents = Array.from({ length: 8 }, () => keepAliveAgent());
    run.t.after(() => {
      for (const agent of agents) agent.destroy();
    });
    await Promise.all(
      agents.map(async (agent) => {
        for (let count = 0; count < 50; count += 1) {
          assert.equal((await request(run.uwsrp.port, { agent })).text, 'ok');
        }
      }),
    );
    for (const agent of agents) agent.destroy();
  });

  await proxied.test('are dropped when a byte comes that nobody asked for', async (run) => {
    await run.script(eachRequest(({ target }) => respond(target)));
    const client = await run.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await client.readResponse()).body.toString(), '/1');
    const [connection] = run.app.accepted;
    connection!.send(respond('stray', { status: '299 Stray' }));
    await connection!.closed;
    client.send('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    const second = await client.readResponse();
    assert.equal(second.body.toString(), '/2');
    assert.equal(run.app.accepted.length, 2);
  });

  const losses: readonly [string, (connection: ScriptedConnection) => void][] = [
    ['closes', (connection) => connection.end()],
    ['resets', (connection) => connection.reset()],
  ];
  for (const [how, lose] of losses) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND', 'REPORT']) {
      await proxied.test(
        `send a ${method} again, once, when the app ${how} a used one without an answer`,
        async (run) => {
          const seen = await afterOneAnswer(run, lose);
          const client = await run.send(head(method));
          const response = await client.readResponse({ method });
          assert.equal(response.status, 200);
          if (method !== 'HEAD') assert.equal(response.body.toString(), 'fresh');
          assert.deepEqual(
            seen.map((each) => each.method),
            [method, method],
          );
          assert.equal(run.app.accepted.length, 2);
        },
      );
    }

    const notAgain: readonly [string, string][] = [
      ['a POST without a body', head('POST', 'Content-Length: 0\r\n')],
      ['a POST with a body', head('POST', 'Content-Length: 3\r\n').concat('abc')],
      ['a PATCH', head('PATCH', 'Content-Length: 3\r\n').concat('abc')],
      ['a PUT with a body', head('PUT', 'Content-Length: 3\r\n').concat('abc')],
      ['a DELETE with chunks', head('DELETE', 'Transfer-Encoding: chunked\r\n').concat('3\r\nabc\r\n0\r\n\r\n')],
      ['a method that nobody knows', head('FROB')],
      ['a get in lower case', head('get')],
    ];
    for (const [what, bytes] of notAgain) {
      await proxied.test(`never send ${what} again when the app ${how} a used one: 502`, async (run) => {
        const seen = await afterOneAnswer(run, lose);
        const client = await run.send(bytes);
        assertErrorAnswer(await client.readResponse(), 502);
        assert.equal(seen.length, 1);
        assert.equal(run.app.accepted.length, 1);
      });
    }

    await proxied.test(`never send a request again when the app ${how} a used one after one byte`, async (run) => {
      for (const bytes of ['H', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
        const seen = await afterOneAnswer(run, async (connection) => {
          await connection.sendAndFlush(bytes);
          lose(connection);
        });
        assertErrorAnswer(await (await run.send()).readResponse(), 502);
        assert.equal(seen.length, 1);
      }
    });

    await proxied.test(`are not tried again when the app ${how} a fresh one without an answer`, async (run) => {
      await run.script(async (connection) => {
        await connection.readRequest();
        lose(connection);
      });
      assertErrorAnswer(await (await run.send()).readResponse(), 502);
      assert.equal(run.app.accepted.length, 1);
    });

    await proxied.test(`are tried on one fresh one only when the app ${how} that too`, async (run) => {
      await run.script(async (connection, index) => {
        await connection.readRequest();
        if (index === 0) {
          connection.send(respond('first'));
          await connection.readRequest();
        }
        lose(connection);
      });
      await (await run.send()).readResponse();
      assertErrorAnswer(await (await run.send()).readResponse(), 502);
      assert.equal(run.app.accepted.length, 2);
    });

    await proxied.test(`try a fresh one, not the next used one, when the app ${how} one`, async (run) => {
      const held: (() => void)[] = [];
      await run.script(async (connection, index) => {
        await connection.readRequest();
        if (index < 3) {
          await new Promise<void>((resolve) => held.push(resolve));
          connection.send(respond('first'));
          await connection.readRequest();
          return lose(connection);
        }
        connection.send(respond('fresh'));
      });
      const clients = [await run.send(), await run.send(), await run.send()];
      await run.app.until((app) => app.requests === 3, 'three requests at a time');
      for (const release of held) release();
      for (const client of clients) await client.readResponse();
      clients[0]!.send(GET);
      assert.equal((await clients[0]!.readResponse()).body.toString(), 'fresh');
      assert.equal(run.app.requests, 5);
    });
  }
});
