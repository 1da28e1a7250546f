import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startDeafApp } from '../helpers/deaf-app.ts';
import { request } from '../helpers/http.ts';
import { answerOnce, assertErrorAnswer, GET, startProxiedApp } from '../helpers/proxied-app.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedConnection } from '../helpers/scripted-app.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const POST = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\n\r\n';

test('UWSRP_RESPONSE_TIMEOUT', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_RESPONSE_TIMEOUT: '500ms' } });

  await proxied.test('answers 504 when the app never answers, and lets it go', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      await connection.closed;
    });
    const client = await run.send();
    assertErrorAnswer(await client.readResponse(), 504);
    await run.app.accepted[0]!.closed;
    // The client's connection is as good as before.
    await run.script(answerOnce(respond('next')));
    client.send(GET);
    assert.equal((await client.readResponse()).body.toString(), 'next');
  });

  await proxied.test('ignores the answer that comes too late', async (run) => {
    await run.script(async (connection, index) => {
      await connection.readRequest();
      if (index === 0) await connection.closed;
      connection.send(respond(index === 0 ? 'too late' : 'in time'));
    });
    const client = await run.send();
    assertErrorAnswer(await client.readResponse(), 504);
    await run.app.accepted[0]!.closed;
    client.send(GET);
    assert.equal((await client.readResponse()).body.toString(), 'in time');
  });

  await proxied.test('does not ask again on another connection, however used the first was', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      connection.send(respond('first'));
      await connection.readRequest();
      await connection.closed;
    });
    const client = await run.send();
    assert.equal((await client.readResponse()).body.toString(), 'first');
    client.send(GET);
    assertErrorAnswer(await client.readResponse(), 504);
    assert.equal(run.app.accepted.length, 1);
    assert.equal(run.app.requests, 2);
  });

  await proxied.test(
    'is the time from the end of the request on: a slow upload is no fault of the app',
    async (run) => {
      await run.script(answerOnce(respond('thanks')));
      const client = await run.send(POST);
      for (const byte of 'body') {
        await delay(300);
        client.send(byte);
      }
      assert.equal((await client.readResponse()).body.toString(), 'thanks');
    },
  );

  await proxied.test('runs while the app does not take the body', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.pause();
      // Without reading, the end of the other side is not seen.
      await run.app.until((app) => app.connections === 0, 'the end of the connection').catch(() => {});
      connection.resume();
    });
    const client = await run.send(POST.replace(': 4', ': 100000000'));
    client.sendAndFlush(Buffer.alloc(100_000_000)).catch(() => {});
    assertErrorAnswer(await client.readResponse(), 504);
    client.destroy();
    for (const connection of run.app.accepted) connection.resume();
  });

  await proxied.test('is for the first byte only: a slow body is left alone', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl');
      await delay(1200);
      connection.send('ow');
    });
    assert.equal((await (await run.send()).readResponse()).body.toString(), 'slow');
  });

  await proxied.test('holds for each of many requests at a time, and for no other', async (run) => {
    await run.script(async (connection) => {
      const { target } = await connection.readRequest();
      if (target === '/answered') connection.send(respond('ok'));
      await connection.closed;
    });
    const paths = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? '/answered' : '/silent'));
    const answers = await Promise.all(paths.map((path) => request(run.uwsrp.port, { path })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      paths.map((path) => (path === '/answered' ? 200 : 504)),
    );
  });
});

test('UWSRP_APP_CONNECTIONS and UWSRP_APP_QUEUE_TIMEOUT', async (t) => {
  const proxied = await startProxiedApp(t, {
    env: { UWSRP_APP_CONNECTIONS: '4', UWSRP_APP_QUEUE_TIMEOUT: '1s' },
  });

  await proxied.test('let further requests wait, and serve them in the order in which they came', async (run) => {
    const held: ScriptedConnection[] = [];
    const targets: string[] = [];
    let isOpen = false;
    await run.script(async (connection) => {
      while (await connection.hasMore()) {
        targets.push((await connection.readRequest()).target);
        if (isOpen) connection.send(respond('ok'));
        else held.push(connection);
      }
      connection.end();
    });
    const clients = [];
    for (let index = 0; index < 12; index += 1) {
      clients.push(await run.send(GET.replace('/ ', `/${index} `)));
      if (index < 4) await run.app.until((app) => app.requests === index + 1, 'the request');
    }
    assert.equal(run.app.accepted.length, 4);
    isOpen = true;
    for (const connection of held) connection.send(respond('ok'));
    for (const client of clients) assert.equal((await client.readResponse()).status, 200);
    assert.equal(run.app.accepted.length, 4);
    assert.deepEqual(
      targets.slice(0, 5),
      [0, 1, 2, 3, 4].map((index) => `/${index}`),
    );
    assert.deepEqual([...targets].sort(), clients.map((_, index) => `/${index}`).sort());
  });

  await proxied.test('answer 503 with Retry-After when no connection becomes free in time', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      await connection.closed;
    });
    for (let index = 0; index < 4; index += 1) await run.send();
    await run.app.until((app) => app.requests === 4, 'four requests');
    const client = await run.send();
    const response = await client.readResponse();
    assertErrorAnswer(response, 503);
    assert.equal(response.headers.get('retry-after'), '5');
    assert.equal(run.app.requests, 4);
  });

  await proxied.test('leave a connection to complete requests, however many bodies are still arriving', async (run) => {
    await run.script(eachRequest(({ method, body }) => respond(`${method} ${body.length}`)));
    const slow = [];
    for (let index = 0; index < 5; index += 1) slow.push(await run.send(`${POST}bo`));
    await run.app.until((app) => app.requests === 3, 'three uploads');
    for (let index = 0; index < 10; index += 1) {
      assert.equal((await request(run.uwsrp.port)).text, 'GET 0');
      assert.equal((await request(run.uwsrp.port, { method: 'POST', body: 'whole' })).text, 'POST 5');
    }
    assert.equal(run.app.accepted.length, 4);
    // The fourth waits as an upload; once it has come whole it waits no longer.
    slow[3]!.send('dy');
    assert.equal((await slow[3]!.readResponse()).body.toString(), 'POST 4');
    // The end of one upload makes room for the next.
    slow[0]!.send('dy');
    assert.equal((await slow[0]!.readResponse()).body.toString(), 'POST 4');
    for (const upload of [slow[4]!, slow[1]!, slow[2]!]) {
      upload.send('dy');
      assert.equal((await upload.readResponse()).body.toString(), 'POST 4');
    }
  });

  await proxied.test('answer 503 to an upload that finds no room', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
    });
    for (let index = 0; index < 3; index += 1) await run.send(`${POST}bo`);
    await run.app.until((app) => app.requests === 3, 'three uploads');
    const client = await run.send(`${POST}bo`);
    assertErrorAnswer(await client.readResponse(), 503);
  });
});

test('UWSRP_CONNECT_TIMEOUT: answers 502 when a connection to the app does not open in time', async (t) => {
  const { port } = await startDeafApp(t);
  const uwsrp = await startUwsrp(t, { appPort: port, env: { UWSRP_CONNECT_TIMEOUT: '300ms' } });
  const client = await connectRaw(uwsrp.port, t);
  client.send(GET);
  assertErrorAnswer(await client.readResponse(), 502);
});
