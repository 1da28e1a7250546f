import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { EndOfBytes } from '../helpers/byte-reader.ts';
import { Random } from '../helpers/random.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { runPooledConnection } from '../helpers/router.ts';
import { startScriptedApp } from '../helpers/scripted-app.ts';
import { hasNewerBuild } from '../helpers/target.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';

const GET = 'GET / HTTP/1.1\r\nHost: app.example\r\n\r\n';

async function start(t: Parameters<typeof startUwsrp>[0], env: Record<string, string>): Promise<Uwsrp> {
  const app = await startScriptedApp(t, async (connection) => {
    for (;;) {
      try {
        const { target } = await connection.readRequest(120_000);
        if (target === '/silent') await connection.closed;
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

  // Nobody is told of a part of a head: for us the connection is idle.
  test('with half a head of a next request are closed when their time as idle ones is over', async (t) => {
    const uwsrp = await start(t, { UWSRP_KEEP_ALIVE: 'on', UWSRP_KEEP_ALIVE_TIMEOUT: '15s' });
    const client = await connectRaw(uwsrp.port, t);
    await ask(client);
    client.send('GET / HTTP/1.1\r\nHost: half');
    assert.equal(await withTimeout(client.closed, 'the end of the connection', 30_000), 'fin');
    assert.equal(client.unread.length, 0);
  });

  test('that are kept survive the churn of resets, aborts, upgrades and time-outs beside them, and a stop', async (t) => {
    const uwsrp = await start(t, {
      UWSRP_KEEP_ALIVE: 'on',
      UWSRP_UPLOAD_IDLE_TIMEOUT: '1s',
      UWSRP_RESPONSE_TIMEOUT: '1s',
      UWSRP_MAX_BODY_SIZE: '1kb',
    });
    const seconds = Number(process.env.KEEP_ALIVE_STRESS_SECONDS ?? 25);
    const gapMs = hasNewerBuild ? 11_000 : 3000;
    const gaps = Array.from({ length: Math.ceil((seconds * 1000) / gapMs) }, () => gapMs);
    const kept = Array.from({ length: 100 }, () => runPooledConnection(uwsrp.port, gaps));
    let isStopping = false;
    const churnOf = (visits: readonly Visit[], count: number) =>
      Array.from({ length: count }, (_, seed) => churn(uwsrp.port, visits, new Random(seed), () => isStopping));
    const quick = churnOf(QUICK_VISITS, 8);
    const timed = churnOf(TIMED_VISITS, 6);
    const runs = await Promise.all(kept);
    assert.deepEqual(
      runs.filter((run) => run.failed > 0 || run.connections !== 1),
      [],
    );

    const idle = await Promise.all(Array.from({ length: 50 }, () => connectRaw(uwsrp.port, t)));
    for (const client of idle) await ask(client);
    isStopping = true;
    assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
    for (const client of idle) await client.closed;
    const counts = await Promise.all([Promise.all(quick), Promise.all(timed)]);
    const [short, timedOut] = counts.map((each) => each.reduce((sum, count) => sum + count, 0)) as [number, number];
    t.diagnostic(`${short} short connections and ${timedOut} time-outs beside ${kept.length} kept ones`);
    assert.ok(short > 1000);
    assert.ok(timedOut > 30);
  });
});

/** What one client does with its connection. */
type Visit = (client: RawSocket, port: number) => Promise<unknown> | undefined;

const sends =
  (text: string): Visit =>
  (client) => {
    client.send(text);
    return undefined;
  };

const QUICK_VISITS: readonly Visit[] = [
  () => undefined,
  sends('GET / HTTP/1.1\r\nHost: half'),
  sends(GET),
  sends(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  ),
  sends('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it'),
  sends(`${GET}${GET}`),
  // Malformed, on a connection that is idle already.
  async (client) => {
    await ask(client);
    client.send('GET / HTTP/1.1\r\nX : 1\r\n\r\n');
  },
  async (client) => {
    await ask(client);
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n');
    assert.equal((await client.readResponse()).status, 413);
  },
  async (client) => {
    await ask(client);
    await ask(client);
  },
  async (client) => {
    await ask(client);
    client.send('GET / HTTP/1.1\r\nHost: half');
  },
  // A router that dies takes all of its idle connections along at once.
  async (client, port) => {
    const clients = [client, ...(await Promise.all(Array.from({ length: 10 }, () => connectRaw(port))))];
    await Promise.all(clients.map(ask));
    for (const each of clients) each.reset();
  },
];

const TIMED_VISITS: readonly Visit[] = [
  async (client) => {
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it');
    assert.equal((await client.readResponse()).status, 408);
  },
  async (client) => {
    client.send(GET.replace('/', '/silent'));
    assert.equal((await client.readResponse()).status, 504);
    await ask(client);
  },
  async (client) => {
    client.send('GET / HTTP/1.1\r\nHost: half');
    await withTimeout(client.closed, 'the end of a connection whose head never ends', 20_000);
  },
];

/** Opens and ends connections in these ways, until the port is closed by a stop; returns how many. */
async function churn(
  port: number,
  visits: readonly Visit[],
  random: Random,
  isStopping: () => boolean,
): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      const client = await connectRaw(port);
      await random.pick(visits)(client, port);
      // Idle ones stay a little, so that the sweep meets them in every state.
      if (random.chance(0.1)) await wait(random.between(1, 50));
      if (random.chance(0.5)) client.reset();
      else client.destroy();
      await client.closed;
    } catch (error) {
      if (isStopping()) return count;
      throw error;
    }
  }
}
