import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { request } from '../helpers/http.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';

async function start(t: TestContext): Promise<Uwsrp> {
  return startUwsrp(t, { args: ['node', 'apps/node-http.js'] });
}

async function open(t: TestContext, uwsrp: Uwsrp, path: string): Promise<RawSocket> {
  const client = await connectRaw(uwsrp.port, t);
  client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n`);
  const { status, headers } = await client.readResponseHead();
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'text/event-stream');
  assert.equal(headers.get('content-encoding'), undefined);
  return client;
}

async function post(uwsrp: Uwsrp, text: string): Promise<void> {
  await request(uwsrp.port, { method: 'POST', path: '/sse-send', body: text });
}

test('each event reaches the client before the next one is sent', async (t) => {
  const uwsrp = await start(t);
  const client = await open(t, uwsrp, '/sse');
  await client.readUntil('data: hello\n\n');
  for (const text of ['one', 'two', 'grüße']) {
    await post(uwsrp, text);
    await client.readUntil(`data: ${Buffer.from(text).toString('latin1')}\n\n`);
  }
  await post(uwsrp, `${'long '.repeat(20_000)}end`);
  // Of a large event the last byte comes in a chunk of its own (chunked-body.ts).
  await client.readUntil((bytes) => {
    const match = /long end\n(\r\n1\r\n)?\n/.exec(bytes.toString('latin1'));
    return match === null ? -1 : match.index + match[0].length;
  });
  await post(uwsrp, 'bye');
  await client.readUntil('\r\n0\r\n\r\n');
});

test('a stream that is silent at first opens with a comment', async (t) => {
  const uwsrp = await start(t);
  const client = await open(t, uwsrp, '/sse-silent');
  await client.readUntil(':\n\n');
  await post(uwsrp, 'late');
  await client.readUntil('data: late\n\n');
});

test('the app sees at once that a client left, by FIN or RST', async (t) => {
  const uwsrp = await start(t);
  for (const [index, leave] of (['end', 'reset'] as const).entries()) {
    const client = await open(t, uwsrp, '/sse');
    await client.readUntil('data: hello\n\n');
    client[leave]();
    await uwsrp.waitForOutput(new RegExp(`(stream closed\\n[^]*){${index + 1}}`));
  }
  assert.deepEqual(JSON.parse((await request(uwsrp.port, { path: '/sse-count' })).text), { streams: 0 });
});

test('fifty streams get the same event', async (t) => {
  const uwsrp = await start(t);
  const clients = await Promise.all(Array.from({ length: 50 }, () => open(t, uwsrp, '/sse')));
  await Promise.all(clients.map((client) => client.readUntil('data: hello\n\n')));
  await post(uwsrp, 'to all');
  await Promise.all(clients.map((client) => client.readUntil('data: to all\n\n')));
});

test('silence longer than the idle limit of uWebSockets.js cuts neither a stream nor a late answer', async (t) => {
  const uwsrp = await start(t);
  const client = await open(t, uwsrp, '/sse');
  await client.readUntil('data: hello\n\n');
  const late = await request(uwsrp.port, { path: '/slow/13000', timeoutMs: 20_000 });
  assert.equal(late.text, 'late');
  await post(uwsrp, 'still here');
  await client.readUntil('data: still here\n\n');
});

test('an app that ends its streams on SIGTERM stops cleanly, after the drain time', async (t) => {
  const uwsrp = await startUwsrp(t, {
    args: ['node', 'apps/node-http.js'],
    env: { UWSRP_DRAIN_TIMEOUT: '500ms', UWSRP_SHUTDOWN_TIMEOUT: '10s' },
  });
  const client = await open(t, uwsrp, '/sse');
  await client.readUntil('data: hello\n\n');
  assert.deepEqual(await uwsrp.stop(), { code: 0, signal: null });
  assert.equal(await client.closed, 'fin');
  assert.match(client.received.toString(), /\r\n0\r\n\r\n$/);
});

test('a stream that the app never ends is cut at the end of the shutdown time', async (t) => {
  const uwsrp = await startUwsrp(t, {
    args: ['node', 'apps/node-http.js'],
    env: { UWSRP_DRAIN_TIMEOUT: '200ms', UWSRP_SHUTDOWN_TIMEOUT: '1s', KEEP_STREAMS: 'yes' },
  });
  const client = await open(t, uwsrp, '/sse');
  await client.readUntil('data: hello\n\n');
  assert.deepEqual(await uwsrp.stop(), { code: 137, signal: null });
  await client.closed;
  assert.doesNotMatch(client.received.toString(), /\r\n0\r\n\r\n$/);
});
