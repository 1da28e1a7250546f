import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { Random } from '../helpers/random.ts';
import { eachRequest, respond, respondChunked } from '../helpers/scripted-app.ts';

const CONNECTIONS = 64;
const REQUESTS = 20_000;

/** Ids with a filling that makes the answer about 100 bytes long, and unlike every other. */
const fillingOf = (id: number) => `${id}-${'abcdefghijklmnop'[id % 16]!.repeat(90 + (id % 11))}`;

/** Sends requests one after the other over each connection; every answer must be the one to its own request. */
async function exchangeAll(run: ProxiedCase, random: Random, count: number): Promise<void> {
  let nextId = 0;
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => run.connect()));
  await Promise.all(
    clients.map(async (client) => {
      while (nextId < count) {
        const id = nextId++;
        const body = fillingOf(id);
        switch (random.between(0, 3)) {
          case 0:
            client.send(`POST /${id} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
            break;
          case 1:
            client.send(`POST /${id} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
            client.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
            break;
          default:
            client.send(`GET /${id} HTTP/1.1\r\nHost: a\r\n\r\n`);
        }
        const response = await client.readResponse();
        assert.equal(response.headers.get('x-id'), `${id}`);
        assert.equal(response.body.toString(), body);
      }
    }),
  );
  for (const client of clients) client.destroy();
}

for (const pipelining of ['1', '8'])
  test(`answers of many requests at a time, ${pipelining} on a connection to the app`, async (t) => {
    const random = new Random(20_000);
    const proxied = await startProxiedApp(t, { env: { UWSRP_APP_PIPELINING: pipelining } });

    await proxied.test(
      `are never swapped: ${REQUESTS} requests over ${CONNECTIONS} connections, no leak`,
      async (run) => {
        await run.script(
          eachRequest(async ({ target, body }) => {
            const id = target.slice(1);
            const text = body.length > 0 ? body.toString() : fillingOf(Number(id));
            // Some answers overtake others.
            if (random.chance(0.2)) await new Promise((resolve) => setImmediate(resolve));
            const head = [`X-Id: ${id}`];
            return random.chance(0.5)
              ? respond(text, { head })
              : respondChunked([text.slice(0, 9), text.slice(9)], { head });
          }),
        );
        await exchangeAll(run, random, REQUESTS / 4);
        const before = run.uwsrp.residentBytes();
        await exchangeAll(run, random, (REQUESTS * 3) / 4);
        const growth = run.uwsrp.residentBytes() - before;
        assert.ok(growth < 32 * 1024 * 1024, `memory grew by ${growth} bytes`);
        assert.ok(run.app.connections <= CONNECTIONS, `${run.app.connections} connections to the app`);
      },
    );
  });
