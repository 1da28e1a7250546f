import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BODY_FRAMINGS, Download, sendDownload } from '../helpers/download.ts';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { Random } from '../helpers/random.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { settled } from '../helpers/settled.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Each costs the kernel some 10 MB, which is what keeps this number small. */
const AT_A_TIME = 40;
/** Twice 64 KiB, what a connection costs otherwise, and its garbage: held back or not differs by tens of megabytes. */
const SHARE_BYTES = 320 * 1024;

async function startDownload(run: ProxiedCase): Promise<RawSocket> {
  const client = await run.send();
  await client.readResponseHead();
  return client;
}

test('a client that reads slowly', async (t) => {
  const proxied = await startProxiedApp(t);

  // First, while the process has no memory to spare of cases before.
  for (const framing of BODY_FRAMINGS) {
    await proxied.test(`costs no more than its share of memory by ${framing}, ${AT_A_TIME} at a time`, async (run) => {
      let sent = 0;
      await run.script(async (connection) => {
        await connection.readRequestHead();
        await sendDownload(connection, framing, 50 * MIB, patternOf(50 * MIB), (bytes) => {
          sent += bytes;
        });
      });
      const before = run.uwsrp.residentBytes();
      for (let count = 0; count < AT_A_TIME; count += 1) (await startDownload(run)).pause();
      await settled(() => sent);
      const growth = run.uwsrp.residentBytes() - before;

      assert.ok(growth < AT_A_TIME * SHARE_BYTES, `memory grew by ${growth} bytes`);
    });
  }

  for (const framing of BODY_FRAMINGS) {
    await proxied.test(`gets all of 128 MiB by ${framing}, which costs no memory`, async (run) => {
      const total = 128 * MIB;
      await run.script(async (connection) => {
        await connection.readRequestHead();
        await sendDownload(connection, framing, total, patternOf(total));
      });
      const before = run.uwsrp.residentBytes();
      const client = await startDownload(run);
      const body = new Download(client, framing, total);
      assert.equal(await body.digest(60_000), patternHash(total));
      const growth = run.uwsrp.residentBytes() - before;
      assert.ok(growth < 48 * MIB, `memory grew by ${growth} bytes`);
    });

    await proxied.test(`holds up the app in 1 GiB by ${framing}, and costs no memory`, async (run) => {
      let sent = 0;
      await run.script(async (connection) => {
        await connection.readRequestHead();
        await sendDownload(connection, framing, GIB, patternOf(GIB), (bytes) => {
          sent += bytes;
        });
      });
      const client = await startDownload(run);
      client.pause();
      await settled(() => sent);
      const before = run.uwsrp.residentBytes();
      // Some 10 KB at a time, so that each waking moves little.
      for (let reads = 0; reads < 30; reads += 1) {
        await new Promise<void>((resolve) => {
          client.socket.once('data', () => {
            client.pause();
            resolve();
          });
          client.resume();
        });
        await delay(50);
      }
      const growth = run.uwsrp.residentBytes() - before;
      assert.ok(growth < 24 * MIB, `memory grew by ${growth} bytes`);
      assert.ok(sent < GIB / 4, `the app could send ${sent} bytes`);
    });
  }

  await proxied.test('misses no wake-up: 100 downloads in bursts, by chance', async (run) => {
    const random = new Random(136);
    for (let round = 0; round < 100; round += 1) {
      const framing = random.pick(BODY_FRAMINGS);
      const total = random.between(1, 3 * MIB);
      const pieceSize = random.pick([100, 1000, 16_384, 65_536, 70_000, 1_000_000]);
      const sizeOfPieces = Math.max(pieceSize, Math.floor(total / 200));
      const body = Buffer.concat([...patternOf(total)]);
      await run.script(async (connection) => {
        await connection.readRequestHead();
        await sendDownload(connection, framing, total, cut(body, sizeOfPieces));
      });
      const client = await startDownload(run);
      const received = new Download(client, framing, total);
      const bursts = burst(client, random);
      const what = `round ${round}: ${total} bytes by ${framing} in pieces of ${sizeOfPieces}`;
      assert.equal(
        await received.digest(20_000).catch((error) => `${what}: ${error.message}`),
        patternHash(total),
        what,
      );
      bursts.stop();
      client.destroy();
    }
  });
});

function* cut(body: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

/** Lets the client read now and then only. */
function burst(client: RawSocket, random: Random): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const turn = () => {
    if (random.chance(0.5)) client.pause();
    else client.resume();
    timer = setTimeout(turn, random.between(0, 4));
  };
  turn();
  return {
    stop() {
      clearTimeout(timer);
      client.resume();
    },
  };
}
