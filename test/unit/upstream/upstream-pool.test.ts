import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { UpstreamPool } from '../../../src/upstream/upstream-pool.ts';
import { startDeafApp } from '../../helpers/deaf-app.ts';
import { RecordingExchange } from '../../helpers/recording-exchange.ts';
import { startSameTurn } from '../../helpers/same-turn.ts';
import { eachRequest, respond, type ScriptedConnection, startScriptedApp } from '../../helpers/scripted-app.ts';
import { NOTHING, ONE_IDLE, socketPath, startPool, UPLOAD } from '../../helpers/started-pool.ts';
import { until } from '../../helpers/until.ts';

/** Answers each request with its target, as soon as the test releases it. */
function heldApp() {
  const held = new Map<string, () => void>();
  const script = eachRequest(async ({ target }) => {
    await new Promise<void>((resolve) => held.set(target, resolve));
    return respond(target);
  });
  const release = async (target: string) => {
    await until(() => held.has(target), `the request for ${target}`);
    held.get(target)!();
    held.delete(target);
  };
  return { script, release };
}

// Reuse

test('the connection used last is used first', async (t) => {
  const { script, release } = heldApp();
  const { pool, send } = await startPool(t, script);
  const first = send({ target: '/1' });
  const second = send({ target: '/2' });
  const third = send({ target: '/3' });
  assert.deepEqual(pool.counters, { inUse: 3, idle: 0, waiting: 0 });
  for (const [target, exchange] of [
    ['/3', third],
    ['/1', first],
    ['/2', second],
  ] as const) {
    await release(target);
    await exchange.settled();
  }
  assert.deepEqual(pool.counters, { inUse: 0, idle: 3, waiting: 0 });
  const next = [send(), send(), send()];
  assert.deepEqual(
    next.map(({ connection }) => connection),
    [second.connection, first.connection, third.connection],
  );
});

test('an idle connection is used until its time is up, and not afterwards', async (t) => {
  const { app, pool, clock, send } = await startPool(
    t,
    eachRequest(() => respond('ok')),
  );
  const first = await send().settled();
  clock.ms += 3900;
  const second = await send().settled();
  assert.equal(second.connection, first.connection);
  clock.ms += 4000;
  const third = await send().settled();
  assert.notEqual(third.connection, first.connection);
  assert.deepEqual(pool.counters, ONE_IDLE);
  await app.until((each) => each.connections === 1, 'the old connection to be closed');
});

test('an idle connection is closed when its time is up, also when no request comes', async (t) => {
  const { app, pool, clock, send } = await startPool(
    t,
    eachRequest(() => respond('ok')),
  );
  await send().settled();
  clock.ms += 4000;
  await app.until((each) => each.connections === 0, 'the idle connection to be closed');
  assert.deepEqual(pool.counters, NOTHING);
});

for (const [announced, idleMs] of [
  ['timeout=3', 2000],
  ['timeout=600', 4000],
] as const) {
  test(`a connection with Keep-Alive: ${announced} is idle for less than ${idleMs} ms`, async (t) => {
    const { clock, send } = await startPool(
      t,
      eachRequest(() => respond('ok', { head: [`Keep-Alive: ${announced}`] })),
    );
    const first = await send().settled();
    clock.ms += idleMs - 200;
    const second = await send().settled();
    assert.equal(second.connection, first.connection);
    clock.ms += idleMs;
    assert.notEqual((await send().settled()).connection, first.connection);
  });
}

for (const announced of ['timeout=1', 'timeout=0']) {
  test(`a connection with Keep-Alive: ${announced} is not kept`, async (t) => {
    const { app, pool, send } = await startPool(
      t,
      eachRequest(() => respond('ok', { head: [`Keep-Alive: ${announced}`] })),
    );
    await send().settled();
    assert.deepEqual(pool.counters, NOTHING);
    await app.until((each) => each.connections === 0, 'the connection to be closed');
  });
}

test('what an app announced for one response does not count for the next', async (t) => {
  const announcements = ['timeout=2', undefined];
  const { clock, send } = await startPool(
    t,
    eachRequest(() => {
      const announced = announcements.shift();
      return respond('ok', { head: announced === undefined ? [] : [`Keep-Alive: ${announced}`] });
    }),
  );
  const first = await send().settled();
  const second = await send().settled();
  clock.ms += 3000;
  assert.equal((await send().settled()).connection, first.connection);
  assert.equal(second.connection, first.connection);
});

for (const [how, leave] of [
  ['closes it', (app) => app.end()],
  ['resets it', (app) => app.reset()],
  ['sends a byte on it', (app) => app.send('x')],
  ['sends a whole response on it', (app) => app.send(respond('stray'))],
] as [string, (connection: { end(): void; reset(): void; send(text: string): void }) => void][]) {
  test(`an idle connection is dropped as soon as the app ${how}`, async (t) => {
    const { app, pool, send } = await startPool(
      t,
      eachRequest(() => respond('ok')),
    );
    await send().settled();
    assert.deepEqual(pool.counters, ONE_IDLE);
    leave(app.accepted[0]!);
    await until(() => pool.counters.idle === 0, 'the connection to be dropped');
    assert.deepEqual(pool.counters, NOTHING);
    // One that may not be sent twice: no try may be wasted.
    assert.equal((await send({ method: 'POST' }).settled()).body, 'ok');
    await app.until((each) => each.connections === 1, 'the dropped connection to be closed');
  });
}

// Lost exchanges

test('a lost exchange is sent again in place of the connection that was lost, however many there are', async (t) => {
  const lost: string[] = [];
  const { app, pool, send } = await startPool(
    t,
    async (connection, index) => {
      await connection.readRequest();
      connection.send(respond('first'));
      const { target } = await connection.readRequest();
      if (index < 2) {
        lost.push(target);
        connection.end();
      } else {
        connection.send(respond('second'));
      }
    },
    { maxConnections: 2 },
  );
  const firsts = [send(), send()];
  for (const each of firsts) await each.settled();
  const seconds = [send({ target: '/a' }), send({ target: '/b' })];
  const waiting = send({ target: '/c' });
  assert.deepEqual(pool.counters, { inUse: 2, idle: 0, waiting: 1 });
  for (const each of seconds) {
    await each.settled();
    assert.equal(each.failure, undefined);
    assert.equal(each.connections.length, 2);
  }
  assert.deepEqual(lost.sort(), ['/a', '/b']);
  assert.equal((await waiting.settled()).body, 'second');
  assert.equal(app.accepted.length, 4);
});

test('an exchange that must not be sent twice is not, when it is lost on a used connection', async (t) => {
  const { app, pool, send } = await startPool(t, async (connection) => {
    await connection.readRequest();
    connection.send(respond('first'));
    await connection.readRequestHead();
    connection.end();
  });
  for (const options of [{ method: 'POST' }, UPLOAD]) {
    await send().settled();
    const lost = send(options);
    assert.equal((await lost.failed()).code, 'UPSTREAM_CLOSED');
    assert.equal(lost.connections.length, 1);
    assert.deepEqual(pool.counters, NOTHING);
  }
  assert.equal(app.accepted.length, 2);
});

for (const [what, close] of [
  ['a close', (connection: ScriptedConnection) => connection.reset()],
  ['an answer that nobody asked for', (connection: ScriptedConnection) => connection.send(respond('too late'))],
] as const) {
  test(`${what} that is read in the turn of the request costs no exchange: nothing of it was sent`, async (t) => {
    const connections: ScriptedConnection[] = [];
    const { app, pool, send } = await startPool(t, async (connection) => {
      connections.push(connection);
      while (await connection.hasMore()) {
        const { method, body } = await connection.readRequest();
        connection.send(respond(`${method} ${body.toString()}`));
      }
    });
    const inSameTurn = await startSameTurn(t);
    for (const options of [{ method: 'GET' }, { method: 'POST' }, UPLOAD]) {
      await send().settled();
      const idle = connections.at(-1)!;
      let exchange!: RecordingExchange;
      await inSameTurn(
        () => {
          exchange = send(options);
          if (options === UPLOAD) exchange.upload('12345', '67890');
        },
        () => close(idle),
      );
      const { method = 'POST' } = options;
      assert.equal((await exchange.settled()).body, `${method} ${options === UPLOAD ? '1234567890' : ''}`);
      assert.equal(exchange.failure, undefined);
      assert.equal(exchange.connections.length, 2);
      assert.deepEqual(pool.counters, ONE_IDLE);
    }
    assert.equal(app.accepted.length, 4);
  });
}

// Connects that fail

test('an app that refuses connects fails the exchange, and an app that is back serves the next', async (t) => {
  const app = await startScriptedApp(
    t,
    eachRequest(() => respond('back')),
  );
  const { port } = app;
  await app.stop();
  const pool = new UpstreamPool({ target: { kind: 'tcp', host: '127.0.0.1', port } });
  t.after(() => pool.close());
  for (const options of [{}, UPLOAD]) {
    const exchange = new RecordingExchange(options);
    pool.dispatch(exchange);
    exchange.write('12345');
    const failure = await exchange.failed();
    assert.equal(failure.code, 'UPSTREAM_REFUSED');
    assert.match(failure.message, new RegExp(`cannot connect to 127.0.0.1:${port}: .*ECONNREFUSED`));
    assert.equal((failure.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED');
    assert.equal(exchange.connections.length, 1);
    assert.deepEqual(pool.counters, NOTHING);
  }
  assert.equal(pool.checkReachable(), false);
  await until(() => pool.counters.inUse === 0, 'the probe to fail');
  const again = await startScriptedApp(
    t,
    eachRequest(() => respond('back')),
    { port },
  );
  const exchange = new RecordingExchange();
  pool.dispatch(exchange);
  assert.equal((await exchange.settled()).body, 'back');
  assert.equal(pool.checkReachable(), true);
  assert.equal(again.accepted.length, 1);
});

test('a unix socket that is missing, and one on which nobody listens, fail the exchange', async (t) => {
  const path = socketPath(t);
  const pool = new UpstreamPool({ target: { kind: 'unix', path } });
  t.after(() => pool.close());
  const missing = new RecordingExchange();
  pool.dispatch(missing);
  assert.equal((await missing.failed()).code, 'UPSTREAM_REFUSED');
  assert.equal((missing.failure!.cause as NodeJS.ErrnoException).code, 'ENOENT');
  assert.match(missing.failure!.message, /cannot connect to unix:/);
  const app = await startScriptedApp(
    t,
    eachRequest(() => respond('there')),
    { path },
  );
  const served = new RecordingExchange();
  pool.dispatch(served);
  assert.equal((await served.settled()).body, 'there');
  await app.stop();
  await until(() => pool.counters.idle === 0, 'the connection to be dropped');
  rmSync(path, { force: true });
  assert.deepEqual(pool.counters, NOTHING);
});

test('a path that is too long for a unix socket fails the exchange', async (t) => {
  const pool = new UpstreamPool({ target: { kind: 'unix', path: `/tmp/${'x'.repeat(200)}` } });
  t.after(() => pool.close());
  const exchange = new RecordingExchange();
  pool.dispatch(exchange);
  assert.equal((await exchange.failed()).code, 'UPSTREAM_REFUSED');
  assert.deepEqual(pool.counters, NOTHING);
});

test('a connect without an answer fails the exchange when its time is up, and those behind it', async (t) => {
  const { port } = await startDeafApp(t);
  const target = { kind: 'tcp', host: '127.0.0.1', port } as const;
  const pool = new UpstreamPool({ target, connectTimeoutMs: 50, maxConnections: 2 });
  t.after(() => pool.close());
  const exchanges = Array.from({ length: 6 }, () => new RecordingExchange());
  for (const exchange of exchanges) pool.dispatch(exchange);
  const failed = exchanges.slice(2);
  for (const exchange of failed) {
    const { code, message } = await exchange.failed();
    assert.equal(code, 'UPSTREAM_REFUSED');
    assert.match(message, /no connection to 127.0.0.1:\d+ in 50 ms/);
  }
});

test('a connection that was made is not held to the time for connects', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { app, send } = await startPool(
    t,
    eachRequest(async () => {
      await released;
      return respond('late');
    }),
  );
  const exchange = send();
  await app.until((each) => each.requests === 1, 'the request');
  t.mock.timers.tick(60_000);
  release();
  assert.equal((await exchange.settled()).body, 'late');
});

// The queue

test('exchanges beyond the most connections wait, and are served in order', async (t) => {
  const held: (() => void)[] = [];
  const seen: string[] = [];
  const { app, pool, send } = await startPool(
    t,
    eachRequest(({ target }) => {
      seen.push(target);
      return new Promise<string>((resolve) => held.push(() => resolve(respond(target))));
    }),
    { maxConnections: 2 },
  );
  const exchanges = Array.from({ length: 10 }, (_, index) => send({ target: `/${index}` }));
  assert.deepEqual(pool.counters, { inUse: 2, idle: 0, waiting: 8 });
  for (let count = 0; count < 10; count += 1) {
    await until(() => held.length > count, `request ${count}`);
    held[count]!();
    await exchanges[Number(seen[count]!.slice(1))]!.settled();
  }
  assert.deepEqual(
    seen.slice(2),
    exchanges.slice(2).map((_, index) => `/${index + 2}`),
  );
  assert.deepEqual(pool.counters, { inUse: 0, idle: 2, waiting: 0 });
  assert.equal(app.accepted.length, 2);
});

test('an exchange that waited too long fails, and only that', async (t) => {
  const { script, release } = heldApp();
  const { pool, clock, send } = await startPool(t, script, { maxConnections: 1 });
  const first = send({ target: '/first' });
  const early = send({ target: '/early' });
  clock.ms += 29_000;
  const late = send({ target: '/late' });
  clock.ms += 1000;
  const failure = await early.failed();
  assert.equal(failure.code, 'QUEUE_TIMEOUT');
  assert.match(failure.message, /30000 ms/);
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 1 });
  await release('/first');
  await first.settled();
  await release('/late');
  assert.equal((await late.settled()).body, '/late');
});

test('an exchange that is cancelled while it waits is never sent', async (t) => {
  const { script, release } = heldApp();
  const { app, pool, send } = await startPool(t, script, { maxConnections: 1 });
  const first = send({ target: '/first' });
  const cancelled = [send(), send(UPLOAD)];
  const last = send({ target: '/last' });
  for (const each of cancelled) {
    pool.cancel(each);
    each.isGivenUp = true;
  }
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 1 });
  await release('/first');
  await first.settled();
  await release('/last');
  assert.equal((await last.settled()).body, '/last');
  assert.equal(app.requests, 2);
});

test('what waits is served when a connection is lost, given up or closed by the app', async (t) => {
  const { app, pool, send } = await startPool(
    t,
    async (connection) => {
      const { target } = await connection.readRequest();
      if (target === '/stay') await connection.closed;
      else if (target === '/lost') connection.reset();
      else connection.end(respond(target, { head: ['Connection: close'] }));
    },
    { maxConnections: 1 },
  );
  const stay = send({ target: '/stay' });
  const lost = send({ target: '/lost', method: 'POST' });
  const closed = send({ target: '/closed' });
  const last = send({ target: '/last' });
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 3 });
  stay.abandon();
  assert.equal((await lost.failed()).code, 'UPSTREAM_CLOSED');
  assert.equal((await closed.settled()).body, '/closed');
  assert.equal((await last.settled()).body, '/last');
  assert.deepEqual(pool.counters, NOTHING);
  await app.until((each) => each.connections === 0, 'every connection to be closed');
});

test('an upload that waited for other uploads is served although an idle connection went meanwhile', async (t) => {
  const { app, pool, clock, send } = await startPool(
    t,
    eachRequest(() => respond('ok')),
    { maxConnections: 8 },
  );
  // One idle connection, six uploads in progress: three quarters of the connections are for uploads.
  const uploads = Array.from({ length: 7 }, () => send(UPLOAD));
  const [, ...inProgress] = uploads;
  uploads[6]!.isRequestComplete = false;
  assert.deepEqual(pool.counters, { inUse: 6, idle: 0, waiting: 1 });
  await send().settled();
  assert.deepEqual(pool.counters, { inUse: 6, idle: 1, waiting: 1 });
  clock.ms += 5000;
  uploads[0]!.upload('1234567890');
  assert.equal(uploads[6]!.connections.length, 1);
  for (const each of inProgress) each.upload('1234567890');
  for (const each of uploads) assert.equal((await each.settled()).body, 'ok');
  assert.equal(pool.counters.inUse, 0);
  assert.equal(pool.counters.waiting, 0);
  await app.until((each) => each.connections === pool.counters.idle, 'the old connection to be closed');
});

// Reachability

test('a probe finds the app that is back, and its connection serves the next exchange', async (t) => {
  const app = await startScriptedApp(t, () => {});
  const { port } = app;
  await app.stop();
  const pool = new UpstreamPool({ target: { kind: 'tcp', host: '127.0.0.1', port } });
  t.after(() => pool.close());
  assert.equal(pool.checkReachable(), true);
  const refused = new RecordingExchange();
  pool.dispatch(refused);
  await refused.failed();
  const again = await startScriptedApp(
    t,
    async (connection, index) => {
      await connection.readRequest();
      // As one does whose idle time is over just now.
      if (index === 0) connection.end();
      else connection.send(respond('again'));
    },
    { port },
  );
  assert.equal(pool.checkReachable(), false);
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 0 });
  await until(() => pool.checkReachable(), 'the probe');
  assert.deepEqual(pool.counters, ONE_IDLE);
  const next = new RecordingExchange();
  pool.dispatch(next);
  assert.equal((await next.settled()).body, 'again');
  assert.equal(next.connections.length, 2);
  assert.equal(again.accepted.length, 2);
});

// The stop

test('a pool that is closed fails what is in flight, what waits and what comes later, and connects no more', async (t) => {
  const { app, pool, send } = await startPool(
    t,
    async (connection) => {
      const { target } = await connection.readRequest();
      if (target === '/half') connection.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nha');
    },
    { maxConnections: 3 },
  );
  const silent = send({ target: '/silent' });
  const half = send({ target: '/half' });
  const upload = send(UPLOAD);
  const waiting = [send(), send(UPLOAD)];
  await half.until(() => half.status === 200, 'half a response');
  assert.deepEqual(pool.counters, { inUse: 3, idle: 0, waiting: 2 });
  pool.close();
  const later = send();
  for (const exchange of [silent, half, upload, ...waiting, later]) {
    assert.equal(exchange.failure?.code, 'DRAINING');
    assert.ok(exchange.connections.length <= 1);
  }
  assert.deepEqual(pool.counters, NOTHING);
  pool.close();
  await app.until((each) => each.connections === 0, 'every connection to be closed');
  assert.equal(app.accepted.length, 3);
});

test('a pool that is closed does not ask whether the app is back', async (t) => {
  const { pool, app, send } = await startPool(t, () => {});
  await app.stop();
  await send().failed();
  pool.close();
  assert.equal(pool.checkReachable(), false);
  assert.deepEqual(pool.counters, NOTHING);
});

test('a pool may be closed in every callback of an exchange', async (t) => {
  for (const where of ['onAssigned', 'onHead', 'onBody', 'onEnd', 'onFailure'] as const) {
    const { app, pool, send } = await startPool(t, async (connection) => {
      await connection.readRequest();
      if (where === 'onFailure') connection.reset();
      else connection.send(respond('x'));
    });
    const exchange = send({ on: { [where]: () => pool.close() } });
    await exchange.settled();
    assert.deepEqual(pool.counters, NOTHING);
    await app.until((each) => each.connections === 0, 'the connection to be closed');
  }
});
