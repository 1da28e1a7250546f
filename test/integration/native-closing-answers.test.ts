import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startNative } from '../helpers/native.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { hasNewerBuild } from '../helpers/target.ts';
import type { Uwsrp } from '../helpers/uwsrp.ts';

/**
 * Answers that have uWebSockets.js close the connection. Where `end` is called late and without `cork`, the connection
 * is gone when it comes back, and its memory soon after; else it goes behind it.
 */
const CLOSING: Readonly<Record<string, string>> = {
  '/at-once': "res.end('bye', true)",
  '/late-in-cork': "late(() => res.cork(() => { res.end('bye', true); }))",
  '/late': "late(() => res.end('bye', true))",
  '/late-in-parts': "late(() => { res.writeStatus('200 OK'); res.end('bye', true); })",
  '/late-without-body': 'late(() => res.endWithoutBody(0, true))',
};
const CLIENTS = 20;

const MODULE = Object.entries(CLOSING)
  .map(
    ([path, answer]) => `
    app.get('${path}', (res) => {
      const late = (end) => { res.onAborted(() => {}); setImmediate(end); };
      ${answer};
    });`,
  )
  .join('');

/** Asks once; gives what the answer says about its connection. */
async function ask(client: RawSocket, path: string): Promise<string | undefined> {
  client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const { status, headers } = await client.readResponse();
  assert.equal(status, 200, path);
  return headers.get('connection');
}

const connectMany = (t: TestContext, uwsrp: Uwsrp, count: number) =>
  Promise.all(Array.from({ length: count }, () => connectRaw(uwsrp.port, t)));

/** Clients that ask for such an answer all at once, and are closed by it. */
async function visit(t: TestContext, uwsrp: Uwsrp, path: string): Promise<void> {
  const clients = await connectMany(t, uwsrp, CLIENTS);
  await Promise.all(
    clients.map(async (client) => {
      await ask(client, path);
      assert.equal(await client.closed, 'fin', path);
      client.destroy();
    }),
  );
}

const errorsOf = (uwsrp: Uwsrp) => uwsrp.logs().filter(({ level }) => level === 'error' || level === 'fatal');

test('a connection that a native answer closes is not one of the kept ones', async (t) => {
  // Behind Heroku's router an answer closes its connection as soon as one other is kept.
  const { uwsrp } = await startNative(t, MODULE, { env: { DYNO: 'web.1', UWSRP_KEEP_ALIVE_MAX: '1' } });
  for (const path of Object.keys(CLOSING)) {
    // Whenever a connection closes, uwsrp looks which are gone: none closes between the last of these and the question.
    const client = await connectRaw(uwsrp.port, t);
    await visit(t, uwsrp, path);
    assert.equal(await ask(client, '/'), hasNewerBuild ? undefined : 'close', path);
    // The next clients' connections come behind this end.
    client.destroy();
  }
  const [kept, next] = await connectMany(t, uwsrp, 2);
  assert.equal(await ask(kept!, '/'), hasNewerBuild ? undefined : 'close');
  assert.equal(await ask(next!, '/'), 'close');
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  assert.deepEqual(errorsOf(uwsrp), []);
});

test('many connections that native answers close leave those beside them whole, up to a stop', async (t) => {
  const { uwsrp } = await startNative(t, MODULE, { env: { UWSRP_KEEP_ALIVE: 'on' } });
  const kept = await connectMany(t, uwsrp, CLIENTS);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([
      ...Object.keys(CLOSING).map((path) => visit(t, uwsrp, path)),
      ...kept.map(async (client) => assert.equal(await ask(client, '/'), undefined)),
    ]);
  }
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  for (const client of kept) assert.equal(await client.closed, 'fin');
  assert.deepEqual(errorsOf(uwsrp), []);
});

/** Answers that no flag of uWebSockets.js closes: the client is told by their head, and closes. */
const TOLD: Readonly<Record<string, string>> = {
  '/tried': "res.tryEnd('abcdef', 6)",
  '/tried-in-parts': "res.tryEnd('abc', 6); later(() => res.tryEnd('def', 6))",
  '/tried-in-cork': "later(() => { res.writeStatus('200 OK').writeHeader('a', 'b'); res.tryEnd('abcdef', 6); })",
  '/written': "res.write('abc'); res.write('d'); later(() => res.end('ef'))",
};
/** The same where it is the handler that wants it. */
const ASKED: Readonly<Record<string, string>> = {
  '/asked': "res.tryEnd('abcdef', 6, true)",
  '/asked-in-parts': "res.tryEnd('abc', 6, true); later(() => res.tryEnd('def', 6, true))",
  '/asked-at-the-end':
    "res.writeHeader('connection', 'Close'); res.tryEnd('abc', 6); later(() => res.end('def', true))",
  '/said': "res.writeHeader('CONNECTION', 'x, close').tryEnd('abcdef', 6, true)",
  '/said-in-chunks': "res.writeHeader('Connection', 'close'); res.write('abc'); res.end('def', true)",
};

const handlersOf = (answers: Readonly<Record<string, string>>) =>
  Object.entries(answers)
    .map(
      ([path, answer]) => `
    app.get('${path}', (res) => {
      const later = (run) => setImmediate(() => res.cork(run));
      res.onAborted(() => {});
      ${answer};
    });`,
    )
    .join('');

/** Asks once; gives every option of every Connection field, and the whole body. */
async function askWhole(client: RawSocket, path: string): Promise<{ options: string[]; body: string }> {
  client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const { status, headers, body } = await client.readResponse();
  assert.equal(status, 200, path);
  return { options: headers.all('connection').flatMap((value) => value.toLowerCase().split(', ')), body: `${body}` };
}

test('what is answered by tryEnd or in chunks says that its connection closes, once', async (t) => {
  const { uwsrp } = await startNative(t, handlersOf({ ...TOLD, ...ASKED }), { env: { UWSRP_KEEP_ALIVE: 'off' } });
  for (const path of [...Object.keys(TOLD), ...Object.keys(ASKED)]) {
    const client = await connectRaw(uwsrp.port, t);
    const { options, body } = await askWhole(client, path);
    assert.deepEqual([options.filter((option) => option === 'close'), body], [['close'], 'abcdef'], path);
    client.destroy();
  }
});

test('it says so too where the handler wants it, and only there', async (t) => {
  const { uwsrp } = await startNative(t, handlersOf({ ...TOLD, ...ASKED }), { env: { UWSRP_KEEP_ALIVE: 'on' } });
  const kept = await connectRaw(uwsrp.port, t);
  for (const path of Object.keys(TOLD)) {
    assert.deepEqual(await askWhole(kept, path), { options: [], body: 'abcdef' }, path);
  }
  for (const path of Object.keys(ASKED)) {
    const client = await connectRaw(uwsrp.port, t);
    const { options, body } = await askWhole(client, path);
    assert.deepEqual([options.filter((option) => option === 'close'), body], [['close'], 'abcdef'], path);
    client.destroy();
  }
});

test("a handler's own Connection field does not keep a connection that uwsrp wants closed", async (t) => {
  const module = "app.get('/', (res) => { res.writeHeader('Connection', 'keep-alive'); res.tryEnd('abcdef', 6); });";
  const { uwsrp } = await startNative(t, module, { env: { UWSRP_KEEP_ALIVE: 'off' } });
  const { options, body } = await askWhole(await connectRaw(uwsrp.port, t), '/');
  assert.deepEqual([options, body], [['keep-alive', 'close'], 'abcdef']);
});

test('a connection whose answer says that it closes is not one of the kept ones', async (t) => {
  const module = handlersOf(ASKED);
  const { uwsrp } = await startNative(t, module, { env: { DYNO: 'web.1', UWSRP_KEEP_ALIVE_MAX: '1' } });
  for (const path of Object.keys(ASKED)) {
    // It stays open, as of a client that does not do what it is told.
    await askWhole(await connectRaw(uwsrp.port, t), path);
    const client = await connectRaw(uwsrp.port, t);
    assert.equal(await ask(client, '/'), hasNewerBuild ? undefined : 'close', path);
    client.destroy();
    if (hasNewerBuild) await client.closed;
  }
});

test('an answer that a stop finds half sent is sent as it began; later ones say that they close', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    const whenStopped = (res, run) => {
      res.onAborted(() => {});
      context.log.info('asked');
      context.signal.addEventListener('abort', () => setImmediate(() => res.cork(run)));
    };
    app.get('/tried', (res) => { res.tryEnd('abc', 6); whenStopped(res, () => res.tryEnd('def', 6)); });
    app.get('/ended', (res) => { res.tryEnd('abc', 6); whenStopped(res, () => res.end('def')); });
    app.get('/written', (res) => { res.write('abc'); whenStopped(res, () => res.end('def')); });
    app.get('/late-tried', (res) => whenStopped(res, () => res.tryEnd('abcdef', 6)));
    app.get('/late-written', (res) => whenStopped(res, () => { res.write('abc'); res.end('def'); }));`,
    { env: { UWSRP_KEEP_ALIVE: 'on' } },
  );
  const expected: Readonly<Record<string, string[]>> = {
    '/tried': [],
    '/ended': [],
    '/written': [],
    '/late-tried': ['close'],
    '/late-written': ['close'],
  };
  const paths = Object.keys(expected);
  const answers = paths.map(async (path) => {
    const client = await connectRaw(uwsrp.port, t);
    const { options, body } = await askWhole(client, path);
    client.destroy();
    return [path, options, body];
  });
  await uwsrp.waitForLog(
    () => uwsrp.logs().filter(({ msg }) => msg === 'asked').length === paths.length,
    'of them all',
  );
  const stopped = uwsrp.stop();
  assert.deepEqual(
    await Promise.all(answers),
    paths.map((path) => [path, expected[path], 'abcdef']),
  );
  assert.deepEqual(await stopped, { code: 143, signal: null });
  assert.deepEqual(errorsOf(uwsrp), []);
});
