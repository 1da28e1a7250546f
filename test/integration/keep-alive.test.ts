import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { EndOfBytes } from '../helpers/byte-reader.ts';
import { Random } from '../helpers/random.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { runPooledConnection } from '../helpers/router.ts';
import { startScriptedApp } from '../helpers/scripted-app.ts';
import { hasNewerBuild } from '../helpers/target.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';

const GET = 'GET / HTTP/1.1\r\nHost: app.example\r\n\r\n';

async function start(t: Parameters<typeof startUwsrp>[0], env: Record<string, string>): Promise<Uwsrp> {
  const app = await startScriptedApp(t, async (connection) => {
    for (;;) {
      try {
        await connection.readRequest(120_000);
      } catch (error) {
        // The client went away in the middle of its request, or the pool let the connection go.
        if (error instanceof EndOfBytes) return;
        throw error;
      }
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    }
  });
  return startUwsrp(t, { appPort: app.port, env });
}

async function ask(client: RawSocket): Promise<string | undefined> {
  client.send(GET);
  const { status, headers } = await client.readResponse();
  assert.equal(status, 200);
  return headers.get('connection');
}

/** 2 to 4 gaps around uWebSockets.js's own limit, or one that is longer than several of it. */
function gapsOf(index: number, random: Random): number[] {
  if (index % 2 === 0) return [random.between(30_000, 60_000)];
  return Array.from({ length: 4 }, () => random.between(9000, 13_000));
}

describe('client connections', { concurrency: true }, () => {
  test('answers on a kept connection say nothing about it', async (t) => {
    const uwsrp = await start(t, { UWSRP_KEEP_ALIVE: 'on' });
    const client = await connectRaw(uwsrp.port, t);
    assert.equal(await ask(client), undefined);
    assert.equal(await ask(client), undefined);
  });

  test('are closed by every answer with UWSRP_KEEP_ALIVE=off', async (t) => {
    const uwsrp = await start(t, { UWSRP_KEEP_ALIVE: 'off' });
    const client = await connectRaw(uwsrp.port, t);
    assert.equal(await ask(client), 'close');
    assert.equal(await client.closed, 'fin');
  });

  test('survive the gaps of a pooling router, or are closed by each answer where they cannot', async (t) => {
    const uwsrp = await start(t, { DYNO: 'web.1' });
    const random = new Random(1);
    const runs = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        // Where each answer closes there is nothing to wait for.
        runPooledConnection(uwsrp.port, hasNewerBuild ? gapsOf(index, random) : [0, 0, 0]),
      ),
    );
    assert.deepEqual(
      runs.filter((run) => run.failed > 0),
      [],
    );
    if (hasNewerBuild) assert.ok(runs.every((run) => run.connections === 1));
    else assert.ok(runs.every((run) => run.connections === 4));
  });

  test('are left to uWebSockets.js with UWSRP_KEEP_ALIVE_MAX=0, which closes them after its own 10 s', async (t) => {
    const uwsrp = await start(t, { UWSRP_KEEP_ALIVE: 'on', UWSRP_KEEP_ALIVE_MAX: '0' });
    const client = await connectRaw(uwsrp.port, t);
    await ask(client);
    const since = performance.now();
    assert.equal(await client.closed, 'fin');
    assert.ok(performance.now() - since < 20_000);
  });

  test('above UWSRP_KEEP_ALIVE_MAX are closed by their answer on a platform with a pooling router', async (t) => {
    const uwsrp = await start(t, { DYNO: 'web.1', UWSRP_KEEP_ALIVE_MAX: '1' });
    const first = await connectRaw(uwsrp.port, t);
    assert.equal(await ask(first), hasNewerBuild ? undefined : 'close');
    const second = await connectRaw(uwsrp.port, t);
    assert.equal(await ask(second), 'close');
  });

  test('that are kept survive the churn of resets, aborts, upgrades and time-outs beside them', async (t) => {
    const uwsrp = await start(t, { UWSRP_KEEP_ALIVE: 'on' });
    const seconds = Number(process.env.KEEP_ALIVE_STRESS_SECONDS ?? 25);
    const gapMs = hasNewerBuild ? 11_000 : 3000;
    const gaps = Array.from({ length: Math.ceil((seconds * 1000) / gapMs) }, () => gapMs);
    const kept = Array.from({ length: 100 }, () => runPooledConnection(uwsrp.port, gaps));
    let isOver = false;
    const churn = Promise.all(Array.from({ length: 8 }, (_, seed) => churnUntil(uwsrp.port, seed, () => isOver)));
    const runs = await Promise.all(kept);
    isOver = true;
    const churned = (await churn).reduce((sum, count) => sum + count, 0);
    t.diagnostic(`${churned} short connections beside ${kept.length} kept ones`);
    assert.ok(churned > 1000);
    assert.deepEqual(
      runs.filter((run) => run.failed > 0 || run.connections !== 1),
      [],
    );
    assert.equal((await uwsrp.stop()).code, 143);
  });
});

/** Opens and ends connections in all the ways in which a client can, until told to stop; returns how many. */
async function churnUntil(port: number, seed: number, isOver: () => boolean): Promise<number> {
  const random = new Random(seed);
  let count = 0;
  while (!isOver()) {
    const client = await connectRaw(port);
    count += 1;
    switch (random.between(0, 7)) {
      case 0: // never says a word
        break;
      case 1:
        client.send('GET / HTTP/1.1\r\nHost: half');
        break;
      case 2:
        client.send(GET);
        break;
      case 3:
        client.send(
          'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
        );
        break;
      case 4:
        client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it');
        break;
      case 5:
        client.send(`${GET}${GET}`);
        break;
      default:
        await ask(client);
        await ask(client);
    }
    // Idle ones stay a little, so that the sweep meets them in every state.
    if (random.chance(0.1)) await wait(random.between(1, 50));
    if (random.chance(0.5)) client.reset();
    else client.destroy();
    await client.closed;
  }
  return count;
}
