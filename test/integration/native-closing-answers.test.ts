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
