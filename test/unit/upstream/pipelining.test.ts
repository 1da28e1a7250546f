import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordingOptions } from '../../helpers/recording-exchange.ts';
import { eachRequest, respond, respondChunked, type ScriptedConnection } from '../../helpers/scripted-app.ts';
import { ONE_IDLE, startPool, UPLOAD } from '../../helpers/started-pool.ts';

const GET: RecordingOptions = { isShareable: true };
const EIGHT = { pipelining: 8 };

const get = (target: string, options: RecordingOptions = {}): RecordingOptions => ({ ...GET, ...options, target });

/** Reads so many requests before the first is answered; gives their targets. */
async function readAll(connection: ScriptedConnection, count: number): Promise<string[]> {
  const targets: string[] = [];
  while (targets.length < count) targets.push((await connection.readRequest()).target);
  return targets;
}

test('exchanges that may share go one behind the other, and get their own answers from one read', async (t) => {
  const { app, pool, send } = await startPool(
    t,
    async (connection) => {
      const targets = await readAll(connection, 8);
      connection.send(
        targets.map((target, index) => (index % 2 === 0 ? respond(target) : respondChunked([target]))).join(''),
      );
    },
    EIGHT,
  );
  const targets = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'];
  const exchanges = targets.map((target) => send(get(target)));
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 0 });
  for (const each of exchanges) await each.settled();
  assert.deepEqual(
    exchanges.map(({ body }) => body),
    targets,
  );
  assert.deepEqual(pool.counters, ONE_IDLE);
  assert.equal(app.accepted.length, 1);
});

test('the ninth opens another connection, and an idle one is used first', async (t) => {
  const { app, send } = await startPool(
    t,
    eachRequest(({ target }) => respond(target)),
    EIGHT,
  );
  const nine = Array.from({ length: 9 }, () => send(GET));
  for (const each of nine) await each.settled();
  assert.equal(app.accepted.length, 2);
  const [first, second] = [send(GET), send(GET)];
  assert.notEqual(first.connection, second.connection);
  for (const each of [first, second]) await each.settled();
  assert.equal(app.accepted.length, 2);
});

test('without the option nothing shares', async (t) => {
  const { app, send } = await startPool(
    t,
    eachRequest(({ target }) => respond(target)),
  );
  for (const each of [send(GET), send(GET)]) await each.settled();
  assert.equal(app.accepted.length, 2);
});

test('what may not share goes behind nothing, and nothing goes behind it', async (t) => {
  const { app, send } = await startPool(
    t,
    eachRequest(({ method }) => respond(method)),
    EIGHT,
  );
  const exchanges = [send(GET), send({ method: 'POST' }), send(UPLOAD), send({ method: 'POST' }), send(GET)];
  exchanges[2]!.upload('1234567890');
  const connections = new Set(exchanges.map(({ connection }) => connection));
  assert.equal(connections.size, 4);
  assert.equal(exchanges[4]!.connection, exchanges[0]!.connection);
  for (const each of exchanges) await each.settled();
  assert.equal(app.accepted.length, 4);
});

test('nothing goes behind an answer that a slow client holds up', async (t) => {
  const { app, send } = await startPool(
    t,
    eachRequest(({ target }) => respond(target)),
    EIGHT,
  );
  const slow = send(GET);
  slow.connection.pauseReading();
  const next = send(get('/next'));
  assert.notEqual(next.connection, slow.connection);
  assert.equal((await next.settled()).body, '/next');
  slow.connection.resumeReading();
  await slow.settled();
  assert.equal(app.accepted.length, 2);
});

test('a request that waited goes behind another as soon as there is room', async (t) => {
  const { app, send } = await startPool(
    t,
    eachRequest(({ target }) => respond(target)),
    { pipelining: 2, maxConnections: 1 },
  );
  const exchanges = ['/1', '/2', '/3', '/4', '/5'].map((target) => send(get(target)));
  for (const each of exchanges) assert.equal((await each.settled()).failure, undefined);
  assert.equal(app.accepted.length, 1);
});

for (const [what, last] of [
  ['says that an answer is the last', () => respond('first', { head: ['Connection: close'] })],
  ['closes behind an answer', () => respond('first')],
] as const) {
  test(`those behind are sent again when the app ${what}, each first in line`, async (t) => {
    const seen: string[] = [];
    const { send } = await startPool(
      t,
      async (connection, index) => {
        if (index > 0) {
          while (await connection.hasMore()) {
            const { target } = await connection.readRequest();
            seen.push(target);
            connection.send(respond(target));
          }
          return;
        }
        await readAll(connection, 4);
        connection.end(last());
      },
      EIGHT,
    );
    const [first, ...others] = ['/1', '/2', '/3', '/4'].map((target) => send(get(target)));
    assert.equal((await first!.settled()).body, 'first');
    for (const [index, each] of others.entries()) {
      assert.equal((await each.settled()).body, `/${index + 2}`);
      assert.equal(each.connections.length, 2);
    }
    assert.equal(new Set(others.map(({ connection }) => connection)).size, 3);
    assert.deepEqual(seen.sort(), ['/2', '/3', '/4']);
  });
}

test('an answer that breaks off fails its exchange alone', async (t) => {
  const { send } = await startPool(
    t,
    async (connection, index) => {
      if (index > 0) return eachRequest(({ target }) => respond(target))(connection, index);
      await readAll(connection, 3);
      connection.end(`${respond('/1')}HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf`);
    },
    EIGHT,
  );
  const [first, second, third] = ['/1', '/2', '/3'].map((target) => send(get(target)));
  assert.equal((await first!.settled()).body, '/1');
  assert.equal((await second!.failed()).code, 'UPSTREAM_CLOSED');
  assert.equal((await third!.settled()).body, '/3');
});

test('an app that answers nothing on a fresh connection fails the first, and the others get their own try', async (t) => {
  const { app, send } = await startPool(
    t,
    async (connection) => {
      await connection.readRequest();
      connection.end();
    },
    EIGHT,
  );
  const exchanges = [send(GET), send(GET), send(GET)];
  for (const each of exchanges) assert.equal((await each.failed()).code, 'UPSTREAM_CLOSED');
  assert.deepEqual(
    exchanges.map(({ connections }) => connections.length),
    [1, 2, 2],
  );
  assert.equal(app.accepted.length, 3);
});

test('the first is given up in the middle of its answer: the others are sent again', async (t) => {
  const { send } = await startPool(
    t,
    async (connection, index) => {
      if (index > 0) return eachRequest(({ target }) => respond(target))(connection, index);
      await readAll(connection, 3);
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
      await connection.hasMore();
    },
    EIGHT,
  );
  const first = send(get('/1', { on: { onHead: (each) => each.abandon() } }));
  const others = [send(get('/2')), send(get('/3'))];
  for (const each of others) assert.equal((await each.settled()).failure, undefined);
  assert.deepEqual(
    others.map(({ body }) => body),
    ['/2', '/3'],
  );
  assert.equal(first.isEnded, false);
});

test('one in the middle is given up: those before it get their answers, those behind are sent again', async (t) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { app, send } = await startPool(
    t,
    async (connection, index) => {
      if (index > 0) return eachRequest(({ target }) => respond(target))(connection, index);
      await readAll(connection, 4);
      await released;
      connection.send(respond('/1') + respond('/2') + respond('/3'));
      await connection.hasMore();
    },
    EIGHT,
  );
  const [first, second, third, fourth] = ['/1', '/2', '/3', '/4'].map((target) => send(get(target)));
  await app.until(({ requests }) => requests === 4, 'all four');
  third!.abandon();
  release();
  assert.equal((await first!.settled()).body, '/1');
  assert.equal((await second!.settled()).body, '/2');
  assert.equal((await fourth!.settled()).body, '/4');
  assert.deepEqual(
    [first, second, fourth].map((each) => each!.connections.length),
    [1, 1, 2],
  );
  assert.equal(third!.isEnded, false);
  assert.equal(app.accepted.length, 2);
});

test('one that is given up before it was sent is not sent', async (t) => {
  const seen: string[] = [];
  const { app, send } = await startPool(
    t,
    eachRequest(({ target }) => {
      seen.push(target);
      return respond(target);
    }),
    EIGHT,
  );
  const [first, second, third] = ['/1', '/2', '/3'].map((target) => send(get(target)));
  second!.abandon();
  for (const each of [first, third]) await each!.settled();
  assert.deepEqual(seen, ['/1', '/3']);
  assert.equal(third!.body, '/3');
  assert.equal(app.accepted.length, 1);
});

test('more answers than requests end the connection', async (t) => {
  const { pool, send } = await startPool(
    t,
    async (connection) => {
      await readAll(connection, 2);
      connection.send(respond('/1') + respond('/2') + respond('/3'));
      await connection.hasMore();
    },
    EIGHT,
  );
  const exchanges = [send(get('/1')), send(get('/2'))];
  for (const each of exchanges) await each.settled();
  assert.equal(exchanges[1]!.body, '/2');
  assert.deepEqual(pool.counters, { inUse: 0, idle: 0, waiting: 0 });
});

test('an app that is silent fails the first when its time is up, and the others get their own', async (t) => {
  const { send } = await startPool(
    t,
    async (connection, index) => {
      if (index > 0) return eachRequest(({ target }) => respond(target))(connection, index);
      await connection.hasMore(10_000);
      await readAll(connection, 2);
      await connection.hasMore(10_000);
    },
    { ...EIGHT, responseTimeoutMs: 300 },
  );
  const [first, second] = [send(get('/1')), send(get('/2'))];
  assert.equal((await first.failed()).code, 'UPSTREAM_TIMEOUT');
  assert.equal((await second.settled()).body, '/2');
});

test('a pool that is closed fails all that are on a connection', async (t) => {
  const { app, pool, send } = await startPool(t, (connection) => readAll(connection, 3).then(() => {}), EIGHT);
  const exchanges = [send(GET), send(GET), send(GET)];
  await app.until(({ requests }) => requests === 3, 'three requests');
  pool.close();
  for (const each of exchanges) assert.equal((await each.failed()).code, 'DRAINING');
});
