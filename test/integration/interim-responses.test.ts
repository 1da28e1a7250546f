import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertErrorAnswer, GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { eachRequest, respond } from '../helpers/scripted-app.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Interim: 1\r\n\r\n';
/** Most interim responses before a final one. */
const LIMIT = 32;

/** The client gets the final response alone, and the app's connection serves the next request. */
async function assertSkipped(run: ProxiedCase, interim: string): Promise<void> {
  await run.script(eachRequest(() => `${interim}${respond('final', { head: ['X-Final: 1'] })}`));
  const client = await run.connect();
  for (let count = 0; count < 2; count += 1) {
    client.send(GET);
    const response = await client.readResponse();
    assert.equal(response.status, 200);
    assert.deepEqual(response.headers.names().sort(), ['Content-Length', 'Date', 'X-Final', 'X-Request-Id']);
    assert.equal(response.body.toString(), 'final');
  }
  assert.equal(run.app.accepted.length, 1);
}

test('interim responses of the app', async (t) => {
  const proxied = await startProxiedApp(t);

  const skipped: readonly [string, string][] = [
    ['a 103 and its Link', HINTS],
    ['a 100 that nobody asked for', CONTINUE],
    ['a 102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['a 104 that is not known', 'HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 5\r\n\r\n'],
    ['a 199 without a reason', 'HTTP/1.1 199\r\n\r\n'],
    ['a 100 with a Content-Length of 0', 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n'],
    ['five 103', HINTS.repeat(5)],
    ['a mix', `${CONTINUE}${HINTS}HTTP/1.1 102 Processing\r\n\r\n${HINTS}`],
    ['as many as are allowed', CONTINUE.repeat(LIMIT)],
  ];
  for (const [what, interim] of skipped) {
    await proxied.test(`skips ${what}, and mixes nothing of it into the answer`, (run) => assertSkipped(run, interim));
  }

  await proxied.test('skips them wherever the reads split them', async (run) => {
    const answer = `${CONTINUE}${HINTS}${respond('final')}`;
    await run.script(
      eachRequest(async (request, connection) => {
        const at = Number(request.target.slice(1));
        await connection.sendAndFlush(answer.slice(0, at));
        return answer.slice(at);
      }),
    );
    const client = await run.connect();
    for (let at = 1; at < answer.length; at += 1) {
      client.send(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await client.readResponse()).body.toString(), 'final', `split at ${at}`);
    }
  });

  await proxied.test('counts anew for each answer', async (run) => {
    await run.script(eachRequest(() => `${CONTINUE.repeat(LIMIT)}${respond('final')}`));
    const client = await run.connect();
    for (let count = 0; count < 3; count += 1) {
      client.send(GET);
      assert.equal((await client.readResponse()).body.toString(), 'final');
    }
  });

  await proxied.test('answers 502 after too many, and drops the connection', async (run) => {
    for (const count of [LIMIT + 1, 200]) {
      assertErrorAnswer(await run.ask(`${CONTINUE.repeat(count)}${respond('final')}`), 502);
      await run.app.accepted[0]!.closed;
    }
  });

  await proxied.test('answers 502 when interim responses never end', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      while (!connection.socket.destroyed) await connection.sendAndFlush(HINTS).catch(() => {});
    });
    assertErrorAnswer(await (await run.send()).readResponse(), 502);
    await run.app.accepted[0]!.closed;
  });

  const refused: readonly [string, string][] = [
    ['a 101 that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw'],
    ['a 101 behind a 100', `${CONTINUE}HTTP/1.1 101 Switching Protocols\r\n\r\n`],
    ['a 103 that announces a body', 'HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nabcde'],
    ['a 100 that announces chunks', 'HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a 103 with a malformed field', 'HTTP/1.1 103 Early Hints\r\nX : 1\r\n\r\n'],
  ];
  for (const [what, interim] of refused) {
    await proxied.test(`answers 502 to ${what}, and drops the connection`, async (run) => {
      assertErrorAnswer(await run.ask(`${interim}${respond('final')}`), 502);
      await run.app.accepted[0]!.closed;
    });
  }

  await proxied.test('answers 502 when the app closes after an interim response', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      connection.end(HINTS);
    });
    assertErrorAnswer(await (await run.send()).readResponse(), 502);
    assert.equal(run.app.accepted.length, 1, 'an answer had begun, so nothing may be sent again');
  });

  await proxied.test('skips them before an answer to HEAD', async (run) => {
    const response = await run.ask(
      `${HINTS}HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n`,
      'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '9');
  });

  await proxied.test("answers Expect: 100-continue once, and hands neither it nor the app's 100 on", async (run) => {
    let names: string[] = [];
    await run.script(async (connection) => {
      const head = await connection.readRequestHead();
      names = head.headers.names();
      connection.send(CONTINUE);
      const { body } = await connection.readRequestBody(head);
      connection.send(respond(body.toString()));
    });
    const client = await run.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n');
    assert.equal((await client.readResponse()).status, 100);
    client.send('0123456789');
    const response = await client.readResponse();
    assert.equal(response.status, 200);
    assert.equal(response.body.toString(), '0123456789');
    assert.ok(!names.some((name) => name.toLowerCase() === 'expect'));
  });

  await proxied.test('sends a final answer that the app gives instead of its 100', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.send(respond('no', { status: '403 Forbidden' }));
    });
    const client = await run.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n');
    assert.equal((await client.readResponse()).status, 100);
    assert.equal((await client.readResponse()).status, 403);
  });
});
