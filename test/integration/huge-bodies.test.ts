import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendDownload } from '../helpers/download.ts';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { respond, type ScriptedConnection } from '../helpers/scripted-app.ts';
import { withTimeout } from '../helpers/timeout.ts';

const MIB = 1024 * 1024;
/** More than 2^32: a count in 32 bits comes round. */
const TOTAL = 5_000_000_000;
/** Copies of what came wait for the garbage collector: some 80 MB with Node 24, however much goes through. */
const MAX_GROWTH = 128 * MIB;
const PIECE = Buffer.alloc(MIB, 'huge');

function* pieces(): Generator<Buffer> {
  for (let left = TOTAL; left > 0; left -= PIECE.length) yield left >= PIECE.length ? PIECE : PIECE.subarray(0, left);
}

/** Counts the body that comes behind a head, and keeps none of it. */
function countBody(connection: ScriptedConnection): Promise<number> {
  const { socket } = connection;
  let count = connection.unread.length;
  return new Promise((resolve) => {
    socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
      count += bytes.length;
      if (count >= TOTAL) resolve(count);
    });
    socket.once('close', () => resolve(count));
  });
}

/** Counts what comes behind a head. */
function countDownload(client: RawSocket): Promise<number> {
  let count = 0;
  return new Promise((resolve) => {
    client.drainTo((bytes) => {
      count += bytes.length;
      if (count >= TOTAL) resolve(count);
    });
    void client.closed.then(() => resolve(count));
  });
}

test(`a body of ${TOTAL} bytes`, async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('goes up whole, and costs bounded memory', async (run) => {
    await run.script(async (connection) => {
      const { headers } = await connection.readRequestHead();
      assert.equal(headers.get('content-length'), `${TOTAL}`);
      connection.send(respond(`${await countBody(connection)}`));
    });
    const before = run.uwsrp.residentBytes();
    const client = await run.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${TOTAL}\r\n\r\n`);
    for (const piece of pieces()) await client.sendAndFlush(piece);
    assert.equal((await client.readResponse({ timeoutMs: 60_000 })).body.toString(), `${TOTAL}`);
    const growth = run.uwsrp.residentBytes() - before;
    assert.ok(growth < MAX_GROWTH, `memory grew by ${growth} bytes`);
  });

  await proxied.test('comes down whole, and costs bounded memory', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      await sendDownload(connection, 'length', TOTAL, pieces());
    });
    const before = run.uwsrp.residentBytes();
    const client = await run.send();
    const { headers } = await client.readResponseHead();
    assert.equal(headers.get('content-length'), `${TOTAL}`);
    assert.equal(await withTimeout(countDownload(client), 'the whole body', 120_000), TOTAL);
    const growth = run.uwsrp.residentBytes() - before;
    assert.ok(growth < MAX_GROWTH, `memory grew by ${growth} bytes`);
  });
});
