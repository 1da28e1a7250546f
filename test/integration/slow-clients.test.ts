import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BODY_FRAMINGS, type BodyFraming, Download, sendDownload } from '../helpers/download.ts';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { startScriptedApp } from '../helpers/scripted-app.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Longer than the 10 to 14 s after which uWebSockets.js gives up a client that takes nothing. */
const STALL_MS = 16_000;

/**
 * The kernel keeps some megabytes for a client that does not read, more or less of them by its own choice. With sizes
 * around that, some downloads stall in their middle and some with nothing but their last bytes left to be written.
 */
const SIZES = [...Array.from({ length: 20 }, (_, index) => 2 * MIB + index * 200 * KIB + index * 77), 20 * MIB];

test('a client that reads nothing for a while gets its whole download', async (t) => {
  const app = await startScriptedApp(t, async (connection) => {
    if (!(await connection.hasMore())) return;
    const { target } = await connection.readRequest();
    const [, framing, size] = target.split('/') as [string, BodyFraming, string];
    await sendDownload(connection, framing, Number(size), patternOf(Number(size)));
  });
  const uwsrp = await startUwsrp(t, { appPort: app.port });

  await Promise.all(
    BODY_FRAMINGS.flatMap((framing) =>
      SIZES.map(async (size) => {
        const client = await connectRaw(uwsrp.port, t);
        client.send(`GET /${framing}/${size} HTTP/1.1\r\nHost: a\r\n\r\n`);
        await client.readResponseHead();
        client.pause();
        const download = new Download(client, framing, size);
        await delay(STALL_MS);
        client.resume();
        assert.equal(await download.digest(30_000), patternHash(size), `${size} bytes by ${framing}`);
        client.destroy();
      }),
    ),
  );
});
