import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EndOfBytes } from '../helpers/byte-reader.ts';
import { readOneBody } from '../helpers/one-body.ts';
import { assertErrorAnswer, startProxiedApp } from '../helpers/proxied-app.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, startScriptedApp } from '../helpers/scripted-app.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const head = (framing: string) => `POST /upload HTTP/1.1\r\nHost: a.example\r\n${framing}\r\n\r\n`;

test('UWSRP_UPLOAD_IDLE_TIMEOUT', { concurrency: true }, async (t) => {
  await Promise.all([
    t.test('with 1s', endsSilentUploads),
    t.test('is a minute by default: 2 KB a second for 40 seconds arrives whole', async (t) => {
      const sent = createHash('sha256');
      const response = await uploadSlowly(t, async (send) => {
        for (let second = 0; second < 40; second += 1) {
          const piece = Buffer.alloc(2048, `second ${second} `);
          sent.update(piece);
          send(piece);
          await delay(1000);
        }
      });
      assert.equal(response, `${40 * 2048} ${sent.digest('hex')}`);
    }),
    t.test('lets a client pause for longer than uWebSockets.js does by itself', async (t) => {
      const response = await uploadSlowly(t, async (send) => {
        send(Buffer.alloc(40_960, 'a'));
        await delay(25_000);
        send(Buffer.alloc(40_960, 'b'));
      });
      assert.match(response, /^81920 /);
    }),
  ]);
});

/** What an app answers that counts and hashes a body of 80 KiB. */
async function uploadSlowly(t: TestContext, write: (send: (bytes: Buffer) => void) => Promise<void>): Promise<string> {
  const app = await startScriptedApp(t, async (connection) => {
    const request = await connection.readRequestHead();
    const { body } = await connection.readRequestBody(request, 60_000);
    connection.send(respond(`${body.length} ${createHash('sha256').update(body).digest('hex')}`));
  });
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  const client = await connectRaw(uwsrp.port, t);
  client.send(head(`Content-Length: ${80 * 1024}`));
  await write((bytes) => client.send(bytes));
  return (await client.readResponse()).body.toString();
}

async function endsSilentUploads(t: TestContext): Promise<void> {
  const proxied = await startProxiedApp(t, { env: { UWSRP_UPLOAD_IDLE_TIMEOUT: '1s' } });

  for (const [what, bytes] of [
    ['in the middle of a body with a length', `${head('Content-Length: 10')}hello`],
    ['before the first byte of a body', head('Content-Length: 10')],
    ['between two chunks', `${head('Transfer-Encoding: chunked')}5\r\nhello\r\n`],
    ['in the middle of a chunk', `${head('Transfer-Encoding: chunked')}5\r\nhel`],
  ] as const) {
    await proxied.test(`ends a client that is silent ${what}: 408, and the app's request is aborted`, async (run) => {
      const ending = await readOneBody(run);
      const client = await run.send(bytes);
      const response = await client.readResponse();
      assertErrorAnswer(response, 408);
      assert.equal(response.headers.get('connection'), 'close');
      assert.equal(await client.closed, 'fin');
      assert.ok((await ending()) instanceof EndOfBytes, 'the app must not see a complete body');
    });
  }

  await proxied.test('leaves a client alone that sends a byte now and then', async (run) => {
    await run.script(eachRequest(({ body }) => respond(body.toString())));
    const client = await run.send(head('Content-Length: 6'));
    for (const byte of 'steady') {
      client.send(byte);
      await delay(600);
    }
    assert.equal((await client.readResponse()).body.toString(), 'steady');
  });

  await proxied.test('does not blame the client while the app is slow to take the body', async (run) => {
    const length = 16 * 1024 * 1024;
    await run.script(async (connection) => {
      const request = await connection.readRequestHead();
      connection.pause();
      await delay(3500);
      connection.resume();
      connection.send(respond(String((await connection.readRequestBody(request, 15_000)).body.length)));
    });
    const client = await run.send(head(`Content-Length: ${length}`));
    await client.sendAndFlush(Buffer.alloc(length));
    assert.equal((await client.readResponse({ timeoutMs: 15_000 })).body.toString(), String(length));
  });

  await proxied.test('cuts an answer that the app has begun', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun');
      await connection.closed;
    });
    const client = await run.send(`${head('Content-Length: 10')}hello`);
    await client.readUntil('begun');
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('delivers an answer that the app gave whole before the body was', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.send(respond('early'));
      await connection.closed;
    });
    const client = await run.send(`${head('Content-Length: 10')}hello`);
    assert.equal((await client.readResponse()).body.toString(), 'early');
    await run.app.until((app) => app.connections === 0, 'the end of the connection to the app');
  });

  await proxied.test('does not run once the body is whole, however long the app takes', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      await delay(2500);
      connection.send(respond('slow'));
    });
    const client = await run.send(`${head('Content-Length: 5')}hello`);
    assert.equal((await client.readResponse()).body.toString(), 'slow');
  });
}
