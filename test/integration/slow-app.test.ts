import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { assertErrorAnswer, GET, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { type ConnectionScript, eachRequest, respond } from '../helpers/scripted-app.ts';
import { settled } from '../helpers/settled.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { until } from '../helpers/until.ts';

test('a client that is held back for a slow app', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('is read again when all of its chunked upload came in one read', async (run) => {
    await run.script(eachRequest(({ body }) => respond(`${body.length}`)));
    const client = await run.connect();
    const chunk = `4000\r\n${'c'.repeat(0x4000)}\r\n`;
    for (let count = 1; count <= 40; count += 1) {
      client.send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(count)}0\r\n\r\n`);
      assert.equal((await client.readResponse()).body.toString(), `${0x4000 * count}`);
      client.send(GET);
      assert.equal((await client.readResponse()).body.toString(), '0');
    }
  });
});

test('an app that takes nothing more of an upload', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_UPLOAD_IDLE_TIMEOUT: '1s' } });
  const piece = Buffer.alloc(256 * 1024, 'u');
  const stopReading: ConnectionScript = async (connection) => {
    await connection.readRequestHead();
    connection.pause();
  };

  for (const framing of ['Content-Length: 1000000000', 'Transfer-Encoding: chunked']) {
    const isChunked = framing.startsWith('T');
    /** Sends until nobody takes any more, and then until the connection ends. */
    const uploadTo = async (client: RawSocket) => {
      client.send(`POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
      while (!client.socket.destroyed) {
        if (isChunked) client.send(`${piece.length.toString(16)}\r\n`);
        await client.sendAndFlush(piece);
        if (isChunked) client.send('\r\n');
      }
    };

    await proxied.test(`is given up after the time that a client has, with 504 (${framing})`, async (run) => {
      await run.script(stopReading);
      const client = await run.connect();
      const sending = uploadTo(client).catch(() => {});
      assertErrorAnswer(await client.readResponse(), 504);
      run.app.accepted[0]!.resume();
      await withTimeout(run.app.accepted[0]!.closed, 'the app to be let go');
      client.destroy();
      await sending;
    });

    await proxied.test(`costs nothing for longer than that once the client has left (${framing})`, async (run) => {
      for (const leave of ['destroy', 'reset'] as const) {
        await run.script(stopReading);
        const idleFiles = run.uwsrp.openFiles();
        const client = await run.connect();
        let sent = 0;
        client.socket.on('drain', () => {
          sent = client.socket.bytesWritten;
        });
        const sending = uploadTo(client).catch(() => {});
        await settled(() => sent);
        client[leave]();
        await sending;
        await until(() => run.uwsrp.openFiles() === idleFiles, 'both connections to be closed', 10_000);
      }
    });
  }

  await proxied.test('has all the time when it takes a little now and then', async (run) => {
    const total = 16 * 1024 * 1024;
    await run.script(async (connection) => {
      const head = await connection.readRequestHead();
      // Less often than the limit would allow if it were for the whole body, more often than it is.
      for (let count = 0; count < 6; count += 1) {
        await connection.readExactly(1024 * 1024);
        connection.pause();
        await delay(500);
        connection.resume();
      }
      await connection.readExactly(total - 6 * 1024 * 1024);
      assert.equal(head.headers.get('content-length'), `${total}`);
      connection.send(respond('ok'));
    });
    const client = await run.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`);
    client.send(Buffer.alloc(total, 'u'));
    assert.equal((await client.readResponse({ timeoutMs: 15_000 })).status, 200);
  });
});
