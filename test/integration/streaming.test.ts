import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { request } from '../helpers/http.ts';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { respond, startScriptedApp } from '../helpers/scripted-app.ts';
import { settled } from '../helpers/settled.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';

const MIB = 1024 * 1024;
const SIZES = [0, 1, 1000, 16_383, 16_384, 65_535, 65_536, 65_537, 1_000_003, 50 * MIB];
/** What one body may cost the proxy, however large it is and however slow the other side (design section 9). */
const MAX_GROWTH = 32 * MIB;

async function startNode(t: TestContext): Promise<Uwsrp> {
  return startUwsrp(t, { args: ['node', 'apps/node-http.js'] });
}

function bytesOf(count: number): Buffer {
  return Buffer.concat([...patternOf(count)]);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('bodies of every size pass unchanged', async (t) => {
  const uwsrp = await startNode(t);

  for (const size of SIZES) {
    await t.test(`${size} bytes down, with a length and in chunks`, async () => {
      const whole = await request(uwsrp.port, { path: `/bytes/${size}`, timeoutMs: 30_000 });
      assert.equal(whole.headers['content-length'], String(size));
      assert.equal(sha256(whole.body), patternHash(size));
      const chunked = await request(uwsrp.port, { path: `/bytes/${size}/chunked`, timeoutMs: 30_000 });
      if (size > 0) assert.equal(chunked.headers['transfer-encoding'], 'chunked');
      assert.equal(sha256(chunked.body), patternHash(size));
    });

    await t.test(`${size} bytes up, with a length and in chunks`, async () => {
      const body = bytesOf(size);
      for (const headers of [{ 'Content-Length': size }, { 'Transfer-Encoding': 'chunked' }]) {
        const answer = await request(uwsrp.port, { method: 'POST', path: '/hash', headers, body, timeoutMs: 30_000 });
        assert.deepEqual(JSON.parse(answer.text), { bytes: size, sha256: patternHash(size) });
      }
    });
  }

  await t.test('both ways at once', async () => {
    const body = bytesOf(5 * MIB);
    for (const headers of [{ 'Content-Length': body.length }, { 'Transfer-Encoding': 'chunked' }]) {
      const answer = await request(uwsrp.port, { method: 'POST', path: '/echo', headers, body, timeoutMs: 30_000 });
      assert.equal(sha256(answer.body), patternHash(body.length));
    }
  });

  await t.test('sixteen at a time', async () => {
    const size = 2 * MIB;
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        index % 2 === 0
          ? request(uwsrp.port, { path: `/bytes/${size}`, timeoutMs: 30_000 }).then(({ body }) => sha256(body))
          : request(uwsrp.port, { method: 'PUT', path: '/hash', body: bytesOf(size), timeoutMs: 30_000 }).then(
              ({ text }) => JSON.parse(text).sha256,
            ),
      ),
    );
    assert.deepEqual(new Set(answers), new Set([patternHash(size)]));
  });
});

test('bodies of every size pass without a word on standard error', async (t) => {
  // uWebSockets.js complains there of every write that is not in a cork.
  const uwsrp = await startNode(t);
  for (const size of SIZES) {
    for (const path of [`/bytes/${size}`, `/bytes/${size}/chunked`]) {
      await request(uwsrp.port, { path, timeoutMs: 30_000 });
    }
  }
  await uwsrp.stop();
  assert.equal(uwsrp.stderr, '');
});

test('a download that nobody reads stops the app, costs bounded memory, and is whole when it is read', async (t) => {
  const total = 100 * MIB;
  let sent = 0;
  const app = await startScriptedApp(t, async (connection) => {
    if (!(await connection.hasMore())) return;
    await connection.readRequest();
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
    for (const piece of patternOf(total)) {
      await connection.sendAndFlush(piece);
      sent += piece.length;
    }
  });
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  const before = uwsrp.residentBytes();
  const client = await connectRaw(uwsrp.port, t);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.readResponseHead();
  client.pause();
  await settled(() => sent);
  assert.ok(sent < total, 'the app could send everything');
  assert.ok(uwsrp.residentBytes() - before <= MAX_GROWTH, `grew by ${uwsrp.residentBytes() - before}`);

  const hash = createHash('sha256');
  let received = 0;
  const whole = new Promise<void>((resolve) => {
    client.drainTo((chunk) => {
      hash.update(chunk);
      received += chunk.length;
      if (received === total) resolve();
    });
  });
  client.resume();
  await withTimeout(whole, () => `the body; ${received} of ${total} came`, 30_000);
  assert.equal(hash.digest('hex'), patternHash(total));
  assert.ok(uwsrp.residentBytes() - before <= MAX_GROWTH, `grew by ${uwsrp.residentBytes() - before}`);
});

for (const framing of ['length', 'chunked'] as const) {
  test(`an upload (${framing}) that the app does not read stops the client, and is whole when it is read`, async (t) => {
    const total = 100 * MIB;
    const hash = createHash('sha256');
    let isRead: (() => void) | undefined;
    const app = await startScriptedApp(t, async (connection) => {
      if (!(await connection.hasMore())) return;
      const head = await connection.readRequestHead();
      connection.pause();
      await new Promise<void>((resolve) => {
        isRead = resolve;
      });
      connection.resume();
      const { body } = await connection.readRequestBody(head, 30_000);
      connection.send(respond(hash.update(body).digest('hex')));
    });
    const uwsrp = await startUwsrp(t, { appPort: app.port });
    const before = uwsrp.residentBytes();
    const client = await connectRaw(uwsrp.port, t);
    let sent = 0;
    const header = framing === 'length' ? `Content-Length: ${total}` : 'Transfer-Encoding: chunked';
    client.send(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`);
    const sending = (async () => {
      for (const piece of patternOf(total)) {
        if (framing === 'chunked') client.send(`${piece.length.toString(16)}\r\n`);
        await client.sendAndFlush(piece);
        if (framing === 'chunked') client.send('\r\n');
        sent += piece.length;
      }
      if (framing === 'chunked') client.send('0\r\n\r\n');
    })();
    await settled(() => sent);
    assert.ok(sent > 0 && sent < total, `the client could send ${sent}`);
    assert.ok(uwsrp.residentBytes() - before <= MAX_GROWTH, `grew by ${uwsrp.residentBytes() - before}`);

    isRead!();
    await sending;
    const { body } = await client.readResponse({ timeoutMs: 30_000 });
    assert.equal(body.toString(), patternHash(total));
    assert.ok(uwsrp.residentBytes() - before <= MAX_GROWTH, `grew by ${uwsrp.residentBytes() - before}`);
  });
}

test('a client that leaves ends the request at the app', async (t) => {
  const endings: string[] = [];
  const app = await startScriptedApp(t, async (connection) => {
    if (!(await connection.hasMore())) return;
    const { target } = await connection.readRequestHead();
    if (target === '/answering') connection.send('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome');
    endings.push(`${target} ${await connection.closed}`);
    connection.end();
  });
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  const cases = [
    ['/waiting', 'GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['/answering', 'GET /answering HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['/uploading', 'POST /uploading HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome'],
  ] as const;
  let requests = 0;
  for (const [target, text] of cases) {
    for (const leave of ['destroy', 'reset'] as const) {
      const client = await connectRaw(uwsrp.port, t);
      client.send(text);
      requests += 1;
      await app.until((now) => now.requests === requests, 'the request to arrive');
      if (target === '/answering') await client.readUntil('some');
      client[leave]();
      await app.until((now) => now.connections === 0, `the app to be left (${target}, ${leave})`);
    }
  }
  assert.equal(endings.length, 6);
});

test('a body that the app cuts is cut for the client', async (t) => {
  const uwsrp = await startNode(t);
  for (const path of ['/abort', '/abort-chunked']) {
    await assert.rejects(request(uwsrp.port, { path }), { code: 'ECONNRESET' }, path);
  }
  assert.equal((await request(uwsrp.port, { path: '/status/200' })).status, 200);
});

test('requests in flight get 502 when the command dies, and the exit code is that of the command', async (t) => {
  const uwsrp = await startNode(t);
  const waiting = request(uwsrp.port, { path: '/slow/60000', timeoutMs: 10_000 });
  const killer = request(uwsrp.port, { path: '/exit/3' });
  assert.deepEqual([(await waiting).status, (await killer).status], [502, 502]);
  assert.deepEqual(await uwsrp.exited, { code: 3, signal: null });
});
