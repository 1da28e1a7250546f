import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { patternHash, patternOf } from '../../helpers/pattern.ts';
import { Random } from '../../helpers/random.ts';
import { RecordingExchange, type RecordingOptions } from '../../helpers/recording-exchange.ts';
import { eachRequest, respond, respondChunked } from '../../helpers/scripted-app.ts';
import { NOTHING, ONE_IDLE, startPool, UPLOAD } from '../../helpers/started-pool.ts';
import { withTimeout } from '../../helpers/timeout.ts';
import { until } from '../../helpers/until.ts';

/** Sockets that this process has open, the app's among them. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

for (const kind of ['tcp', 'unix'] as const) {
  test(`one exchange after the other goes over one ${kind} connection`, async (t) => {
    const { app, pool, send } = await startPool(
      t,
      eachRequest(({ target, body }) => respond(`${target} ${body}`)),
      { kind },
    );
    for (let count = 0; count < 5; count += 1) {
      const get = await send({ target: `/${count}` }).settled();
      assert.equal(get.body, `/${count} `);
      const upload = send(UPLOAD);
      upload.upload('12345', Buffer.from('67890'));
      assert.equal((await upload.settled()).body, '/ 1234567890');
    }
    assert.equal(app.accepted.length, 1);
    assert.deepEqual(pool.counters, ONE_IDLE);
  });
}

test('a head and the first of its body leave in one write', async (t) => {
  let first: Promise<Buffer[]> | undefined;
  const { send } = await startPool(t, async (connection) => {
    first = once(connection.socket, 'data') as Promise<Buffer[]>;
    await connection.readRequest();
    connection.send(respond('ok'));
  });
  const upload = send(UPLOAD);
  upload.upload('12345', '67890');
  await upload.settled();
  const [bytes] = await first!;
  assert.equal(bytes!.toString(), `${upload.requestHead}1234567890`);
});

// The body of one exchange and the head of the next

test('a body that the app answered before it had read all stays before the next head', async (t) => {
  const size = 8 * 1024 * 1024;
  const { app, pool, send } = await startPool(t, async (connection) => {
    const head = await connection.readRequestHead();
    connection.pause();
    connection.send(respond('early'));
    await pausedUntil;
    connection.resume();
    const { body } = await connection.readRequestBody(head);
    assert.equal(createHash('sha256').update(body).digest('hex'), patternHash(size));
    const next = await connection.readRequest();
    connection.send(respond(next.target));
  });
  let release = () => {};
  const pausedUntil = new Promise<void>((resolve) => {
    release = resolve;
  });
  const upload = send({ method: 'POST', hasRequestBody: true, lines: [`Content-Length: ${size}`] });
  const body = Buffer.concat([...patternOf(size)]);
  upload.write(body.subarray(0, -10));
  await upload.settled();
  // The first write is not complete, so this one waits in the stream; the connection is free nevertheless.
  upload.upload(body.subarray(-10));
  assert.deepEqual(pool.counters, ONE_IDLE);
  const next = send({ target: '/next' });
  release();
  assert.equal((await next.settled()).body, '/next');
  assert.equal(app.accepted.length, 1);
});

test('a connection is free when the body is complete, if the response came first', async (t) => {
  const { app, pool, send } = await startPool(t, async (connection) => {
    const head = await connection.readRequestHead();
    connection.send(respond('early'));
    const { body } = await connection.readRequestBody(head);
    assert.equal(body.toString(), '1234567890');
    await eachRequest(() => respond('next'))(connection, 0);
  });
  const upload = send(UPLOAD);
  await upload.settled();
  assert.equal(upload.body, 'early');
  assert.deepEqual(pool.counters, { inUse: 1, idle: 0, waiting: 0 });
  upload.upload('12345', '67890');
  assert.deepEqual(pool.counters, ONE_IDLE);
  assert.equal((await send().settled()).body, 'next');
  assert.equal(app.accepted.length, 1);
});

test('an app that answers with Connection: close may go on reading the body', async (t) => {
  const size = 8 * 1024 * 1024;
  let onHash: (hash: string) => void;
  const hash = new Promise<string>((resolve) => {
    onHash = resolve;
  });
  const { app, pool, send } = await startPool(t, async (connection) => {
    const head = await connection.readRequestHead();
    connection.send(respond('early', { head: ['Connection: close'] }));
    const { body } = await connection.readRequestBody(head);
    onHash(createHash('sha256').update(body).digest('hex'));
    assert.equal(await connection.closed, 'fin');
  });
  const upload = send({ ...UPLOAD, lines: [`Content-Length: ${size}`] });
  await upload.settled();
  upload.upload(...patternOf(size));
  assert.deepEqual(pool.counters, NOTHING);
  assert.equal(await withTimeout(hash, 'the whole body'), patternHash(size));
  await app.until((each) => each.connections === 0, 'the close of the connection');
});

for (const leave of ['end', 'reset'] as const) {
  test(`the rest of a body is dropped when the app that answered with Connection: close does not read it (${leave})`, async (t) => {
    const { app, pool, send } = await startPool(t, async (connection) => {
      await connection.readRequestHead();
      connection.pause();
      connection.send(respond('early', { head: ['Connection: close'] }));
      await uploaded;
      connection[leave]();
    });
    let onUploaded = () => {};
    const uploaded = new Promise<void>((resolve) => {
      onUploaded = resolve;
    });
    const upload = send({ ...UPLOAD, lines: ['Content-Length: 20000000'] });
    await upload.settled();
    upload.upload(Buffer.alloc(20_000_000));
    assert.deepEqual(pool.counters, NOTHING);
    onUploaded();
    // The app's own socket may stay; it reads nothing, so it cannot tell.
    await until(() => sockets() <= (leave === 'end' ? 1 : 0), 'the connection to be closed');
    assert.ok(app.connections <= 1);
  });
}

test('an app that answers and then closes takes no more of the body, which is told', async (t) => {
  const { pool, send } = await startPool(t, async (connection) => {
    await connection.readRequestHead();
    connection.end(respond('early'));
  });
  const upload = send(UPLOAD);
  const failure = await upload.failed();
  assert.equal(failure.code, 'UPSTREAM_CLOSED');
  assert.ok(upload.isEnded, 'the answer came first');
  assert.equal(upload.body, 'early');
  assert.deepEqual(pool.counters, NOTHING);
});

test('bytes behind a response that came before the end of the body end the connection', async (t) => {
  const { pool, send } = await startPool(t, async (connection) => {
    await connection.readRequestHead();
    await connection.sendAndFlush(respond('early'));
    await connection.hasMore();
    connection.send('more');
    assert.equal(await connection.closed, 'reset');
  });
  const upload = send(UPLOAD);
  await upload.settled();
  upload.write('12345');
  await upload.failed();
  assert.deepEqual(pool.counters, NOTHING);
});

test('a slow app makes write say no, and onDrain follows when it reads', async (t) => {
  const size = 8 * 1024 * 1024;
  let resume = () => {};
  const { send } = await startPool(t, async (connection) => {
    const head = await connection.readRequestHead();
    connection.pause();
    resume = () => connection.resume();
    connection.send('HTTP/1.1 102 Paused\r\n\r\n');
    const { body } = await connection.readRequestBody(head);
    connection.send(respond(createHash('sha256').update(body).digest('hex')));
  });
  const pieces = [...patternOf(size)];
  let refusals = 0;
  const proceed = (exchange: RecordingExchange) => {
    while (pieces.length > 0) {
      if (!exchange.write(pieces.shift()!)) {
        refusals += 1;
        return;
      }
    }
    exchange.isRequestComplete = true;
    exchange.connection.finishRequest();
  };
  const upload = send({
    ...UPLOAD,
    lines: [`Content-Length: ${size}`],
    on: { onHeadSent: proceed, onDrain: proceed, onReadEnd: () => resume() },
  });
  assert.equal((await upload.settled()).body, patternHash(size));
  assert.ok(refusals > 0, `held back ${refusals} times`);
});

for (const [what, answer] of [
  ['a response of known length', `${respond('whole')}x`],
  ['a chunked response', `${respondChunked(['whole'])}x`],
  ['a response to HEAD', `${respond('')}whole`],
  ['a 204', 'HTTP/1.1 204 No Content\r\n\r\nwhole'],
  ['a response, a second one', `${respond('whole')}${respond('second')}`],
] as const) {
  test(`bytes behind ${what} end the connection, and are nobody's`, async (t) => {
    const { app, pool, send } = await startPool(
      t,
      eachRequest(() => answer),
    );
    const method = what.includes('HEAD') ? 'HEAD' : 'GET';
    for (let count = 1; count <= 2; count += 1) {
      const exchange = await send({ method }).settled();
      assert.equal(exchange.failure, undefined);
      assert.equal(exchange.body, method === 'HEAD' || exchange.status === 204 ? '' : 'whole');
      assert.deepEqual(pool.counters, NOTHING);
      assert.equal(app.accepted.length, count);
    }
  });
}

// Failed writes

for (const kind of ['tcp', 'unix'] as const) {
  for (const leave of kind === 'tcp' ? (['end', 'reset', 'destroy'] as const) : (['end', 'destroy'] as const)) {
    test(`an answer in mid-upload wins over the write that fails behind it (${kind}, ${leave}), 20 times`, async (t) => {
      let write = () => {};
      const { app, pool, send } = await startPool(
        t,
        async (connection) => {
          await connection.readRequestHead();
          connection.send(respond('too large', { status: '413 Content Too Large' }));
          if (leave === 'destroy') connection.socket.destroy();
          else connection[leave]();
          // In the same turn of the event loop: the failure is there before the answer is read.
          for (let count = 0; count < 3; count += 1) write();
        },
        { kind },
      );
      for (let count = 0; count < 20; count += 1) {
        const upload = send({ ...UPLOAD, lines: ['Content-Length: 1000000'] });
        write = () => upload.write('x'.repeat(10_000));
        await upload.settled();
        assert.equal(upload.status, 413, upload.failure?.message);
        assert.equal(upload.body, 'too large');
        await upload.failed();
        assert.deepEqual(pool.counters, NOTHING);
      }
      assert.equal(app.accepted.length, 20);
    });
  }

  test(`a write that fails without an answer fails the exchange (${kind})`, async (t) => {
    let write = () => {};
    const { pool, send } = await startPool(
      t,
      async (connection) => {
        await connection.readRequestHead();
        connection.socket.destroy();
        for (let count = 0; count < 3; count += 1) write();
      },
      { kind },
    );
    const upload = send({ ...UPLOAD });
    write = () => upload.write('x');
    assert.equal((await upload.failed()).code, 'UPSTREAM_CLOSED');
    assert.equal(upload.status, 0);
    assert.deepEqual(pool.counters, NOTHING);
  });
}

test('a connection on which a write failed is not used again, though its response is whole', async (t) => {
  let finish = () => {};
  const { app, pool, send } = await startPool(t, async (connection, index) => {
    if (index > 0) return eachRequest(() => respond('fresh'))(connection, index);
    await connection.readRequestHead();
    connection.send(respond('whole'));
    connection.reset();
    finish();
  });
  const upload = send(UPLOAD);
  finish = () => upload.upload('1234567890');
  assert.equal((await upload.settled()).body, 'whole');
  assert.deepEqual(pool.counters, NOTHING);
  // One that may not be sent twice.
  assert.equal((await send({ method: 'POST' }).settled()).body, 'fresh');
  assert.equal(app.accepted.length, 2);
});

// The end of the connection

for (const kind of ['tcp', 'unix'] as const) {
  test(`a body without a length ends with the connection (${kind})`, async (t) => {
    const { pool, send } = await startPool(t, (connection) => connection.end('HTTP/1.1 200 OK\r\n\r\nwhole'), { kind });
    const exchange = await send().settled();
    assert.equal(exchange.failure, undefined);
    assert.equal(exchange.body, 'whole');
    assert.deepEqual(pool.counters, NOTHING);
  });
}

test('a body without a length does not end with a reset, also when it comes with the last bytes, 50 times', async (t) => {
  const { pool, send } = await startPool(t, async (connection) => {
    await connection.readRequest();
    connection.send('HTTP/1.1 200 OK\r\n\r\nnot all');
    connection.reset();
  });
  for (let count = 0; count < 50; count += 1) {
    const exchange = await send().settled();
    assert.equal(exchange.failure?.code, 'UPSTREAM_CLOSED');
    assert.equal(exchange.isEnded, false);
  }
  assert.deepEqual(pool.counters, NOTHING);
});

test('a response of known length that is whole is so whatever comes with it', async (t) => {
  const { send } = await startPool(t, async (connection, index) => {
    await connection.readRequest();
    connection.send(respond('whole'));
    if (index % 2 === 0) connection.reset();
    else connection.end();
  });
  for (let count = 0; count < 20; count += 1) {
    const exchange = await send({ method: 'POST' }).settled();
    // The next request may be on its way into the connection that is just ending: it must not be sent twice.
    if (exchange.failure === undefined) assert.equal(exchange.body, 'whole');
    else assert.equal(exchange.status, 0);
  }
});

// Reading held back

test('a response that ends while it is held back leaves the connection readable', async (t) => {
  const { app, pool, send } = await startPool(
    t,
    eachRequest(({ target }) => respond(target)),
  );
  for (const where of ['onHead', 'onBody', 'onEnd'] as const) {
    const held = send({
      target: '/held',
      on: { [where]: (exchange: RecordingExchange) => exchange.connection.pauseReading() },
    });
    assert.equal((await held.settled()).body, '/held');
    assert.equal((await send({ target: '/next' }).settled()).body, '/next');
  }
  assert.equal(app.accepted.length, 1);
  // The app's close is seen, too.
  app.accepted[0]!.end();
  await app.until((each) => each.connections === 0, 'the close of the idle connection');
  assert.deepEqual(pool.counters, NOTHING);
});

test('a response that is complete before its body is sent is not left held back', async (t) => {
  const { app, pool, send } = await startPool(t, async (connection) => {
    await connection.readRequestHead();
    connection.send(respond('early'));
    await connection.hasMore();
    connection.end();
  });
  const upload = send({ ...UPLOAD, on: { onEnd: (exchange) => exchange.connection.pauseReading() } });
  await upload.settled();
  upload.connection.pauseReading();
  upload.write('12345');
  assert.equal((await upload.failed()).code, 'UPSTREAM_CLOSED');
  await app.until((each) => each.connections === 0, 'the close of the connection');
  assert.deepEqual(pool.counters, NOTHING);
});

for (const [ending, isWhole] of [
  ['end', true],
  ['reset', false],
] as const) {
  test(`what the app sent before its ${ending} is read after a long pause`, async (t) => {
    const size = 200_000;
    let onLeft = () => {};
    const left = new Promise<void>((resolve) => {
      onLeft = resolve;
    });
    const { send } = await startPool(t, async (connection) => {
      await connection.readRequest();
      connection.send('HTTP/1.1 200 OK\r\n\r\n');
      await connection.sendAndFlush(Buffer.concat([...patternOf(size)]));
      connection[ending]();
      onLeft();
    });
    const exchange = send({ on: { onHead: (each) => each.connection.pauseReading() } });
    await exchange.until(() => exchange.status === 200, 'the head');
    await withTimeout(left, 'the app to leave');
    exchange.connection.resumeReading();
    await exchange.settled();
    assert.equal(exchange.isEnded, isWhole);
    if (isWhole) assert.equal(createHash('sha256').update(exchange.body, 'latin1').digest('hex'), patternHash(size));
  });
}

test('a close that was read before the pause is told', async (t) => {
  const { send } = await startPool(t, (connection) => connection.end('HTTP/1.1 200 OK\r\n\r\nwhole'));
  for (let count = 0; count < 20; count += 1) {
    const exchange = send({ on: { onBody: (each) => each.connection.pauseReading() } });
    await exchange.until(() => exchange.status === 200, 'the head');
    exchange.connection.resumeReading();
    await exchange.settled();
    assert.ok(exchange.isEnded);
    assert.equal(exchange.body, 'whole');
  }
});

test('a body of 16 MB comes whole through hundreds of pauses', async (t) => {
  const size = 16 * 1024 * 1024;
  const random = new Random(7);
  const { send } = await startPool(t, async (connection) => {
    await connection.readRequest();
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    for (const piece of patternOf(size)) connection.send(piece);
  });
  let pauses = 0;
  const exchange = send({
    on: {
      onReadEnd: ({ connection }) => {
        if (random.chance(0.3)) return;
        pauses += 1;
        connection.pauseReading();
        if (random.chance(0.3)) connection.resumeReading();
        if (random.chance(0.3)) connection.pauseReading();
        const resume = () => connection.resumeReading();
        random.pick<(resume: () => void) => unknown>([setImmediate, process.nextTick, queueMicrotask])(resume);
      },
    },
  });
  await exchange.settled(20_000);
  assert.equal(createHash('sha256').update(exchange.body, 'latin1').digest('hex'), patternHash(size));
  assert.ok(pauses > 100, `${pauses} pauses`);
});

// Given up

const GIVE_UP: Record<string, [RecordingOptions, answer: string]> = {
  onAssigned: [{}, respond('x')],
  'onAssigned of an upload': [UPLOAD, respond('x')],
  onHead: [{}, respond('x')],
  'onHead of an answer without a body': [{}, 'HTTP/1.1 204 No Content\r\n\r\n'],
  onBody: [{}, respond('x')],
  'onBody of the first chunk': [{}, respondChunked(['a', 'b', 'c'])],
  onReadEnd: [{}, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx'],
  onEnd: [{}, respond('x')],
  'onEnd of an upload': [UPLOAD, respond('x')],
  'onEnd of a body that ends with the connection': [{}, 'HTTP/1.1 200 OK\r\n\r\nx'],
};
for (const [where, [options, answer]] of Object.entries(GIVE_UP)) {
  test(`an exchange may be given up in its ${where}, and hears no more`, async (t) => {
    const name = where.split(' ')[0] as keyof NonNullable<RecordingOptions['on']>;
    const { app, pool, send } = await startPool(t, async (connection) => {
      await connection.readRequestHead();
      connection.end(answer);
    });
    const exchange = send({ ...options, on: { [name]: (each: RecordingExchange) => each.abandon() } });
    await exchange.until(() => exchange.isGivenUp, name);
    const isAccepted = name !== 'onAssigned';
    await app.until((each) => each.accepted.length === 1 || !isAccepted, 'the connection');
    await app.until((each) => each.connections === 0, 'the close of the connection');
    assert.equal(exchange.told.at(-1), name);
    assert.deepEqual(pool.counters, NOTHING);
  });
}

test('an exchange may be given up while it connects, and in the turn in which it was sent', async (t) => {
  const { app, pool, send } = await startPool(t, async (connection) => {
    assert.equal(await connection.hasMore(), false);
  });
  for (const options of [{}, UPLOAD]) {
    const exchange = send(options);
    exchange.write('12345');
    exchange.abandon();
    assert.deepEqual(pool.counters, NOTHING);
  }
  await app.until((each) => each.connections === 0, 'no connection');
});

for (const where of ['onEnd', 'onFailure'] as const) {
  test(`another exchange may be sent in ${where}`, async (t) => {
    const { app, pool } = await startPool(t, async (connection, index) => {
      await connection.readRequest();
      if (where === 'onFailure' && index === 0) return connection.reset();
      connection.send(respond('first'));
      await connection.readRequest();
      connection.send(respond('second'));
    });
    const next = new RecordingExchange({ method: 'POST' });
    const first = new RecordingExchange({ method: 'POST', on: { [where]: () => pool.dispatch(next) } });
    pool.dispatch(first);
    await first.settled();
    await next.settled();
    assert.equal(next.failure, undefined);
    assert.equal(app.accepted.length, 2);
    assert.equal(pool.counters.inUse, 0);
  });
}

test('hundreds of exchanges on one connection leave no listener behind', async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const { app, send } = await startPool(
    t,
    eachRequest(() => respond('ok')),
  );
  for (let count = 0; count < 200; count += 1) {
    await send().settled();
    const upload = send(UPLOAD);
    upload.upload('12345', '67890');
    await upload.settled();
  }
  assert.equal(app.accepted.length, 1);
  assert.deepEqual(warnings, []);
});
