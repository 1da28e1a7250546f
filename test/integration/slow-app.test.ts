import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GET, startProxiedApp } from '../helpers/proxied-app.ts';
import { eachRequest, respond } from '../helpers/scripted-app.ts';

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
