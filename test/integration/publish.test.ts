import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { request } from '../helpers/http.ts';
import { type PublishRun, startPublishing } from '../helpers/publish.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

async function subscribe(t: TestContext, { uwsrp }: PublishRun, topic = 'news'): Promise<TestWebSocket> {
  const socket = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/topics/${topic}`);
  assert.equal((await socket.nextMessage()).text, 'subscribed');
  return socket;
}

test('the command publishes to native subscribers', async (t) => {
  const run = await startPublishing(t, { UWSRP_WS_MAX_MESSAGE: '100kb' });
  const first = await subscribe(t, run);
  const second = await subscribe(t, run);
  const other = await subscribe(t, run, 'other');
  const both = async () => [await first.nextMessage(), await second.nextMessage()];

  await t.test('as text', async () => {
    for (const type of ['text/plain; charset=utf-8', 'application/json', undefined]) {
      const answer = await run.publish('{"grüße":1}', type === undefined ? {} : { type });
      assert.deepEqual([answer.status, answer.text], [204, '']);
      for (const { isBinary, text } of await both()) assert.deepEqual([isBinary, text], [false, '{"grüße":1}']);
    }
  });

  await t.test('as bytes', async () => {
    const bytes = Buffer.from([0, 255, 1, 254]);
    assert.equal((await run.publish(bytes, { type: 'Application/Octet-Stream' })).status, 204);
    for (const { isBinary, data } of await both()) assert.deepEqual([isBinary, data], [true, bytes]);
  });

  await t.test('nothing, and up to UWSRP_WS_MAX_MESSAGE', async () => {
    for (const body of ['', 'x'.repeat(102_400)]) {
      assert.equal((await run.publish(body)).status, 204);
      for (const { text } of await both()) assert.equal(text, body);
    }
  });

  await t.test('many at once, in order, to several topics', async () => {
    const lines = [
      ['news', 'one'],
      ['other', 'two'],
      ['news', 'three\nlines'],
    ].map(([topic, message]) => JSON.stringify({ topic, message }));
    const answer = await run.publish(`${lines.join('\n')}\n\n`, { query: '', type: 'application/x-ndjson' });
    assert.equal(answer.status, 204);
    for (const text of ['one', 'three\nlines']) for (const got of await both()) assert.equal(got.text, text);
    assert.equal((await other.nextMessage()).text, 'two');
  });

  await t.test('to a topic with any characters', async () => {
    const socket = await subscribe(t, run, 'a%20b');
    assert.equal((await run.publish('odd', { query: '?topic=a%2520b' })).status, 204);
    assert.equal((await socket.nextMessage()).text, 'odd');
    const why = await subscribe(t, run, 'why');
    assert.equal((await run.publish('not for it', { query: '?topic=why?' })).status, 204);
    assert.equal((await run.publish('for it', { query: '?topic=why' })).status, 204);
    assert.equal((await why.nextMessage()).text, 'for it');
  });

  await t.test('with the name of the scheme in any case', async () => {
    assert.equal((await run.publish('named', { authorization: `bearer ${run.token}` })).status, 204);
    for (const { text } of await both()) assert.equal(text, 'named');
  });

  await t.test('not without the token', async () => {
    const { token } = run;
    const wrong = ['', 'Bearer', `Bearer ${token.slice(1)}`, `Bearer ${token}0`, token, `Basic ${token}`];
    for (const authorization of wrong) {
      const answer = await run.publish('forged', { authorization });
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, 'Bearer'], authorization);
    }
    assert.equal((await run.publish('forged', { authorization: '', query: '//[' })).status, 401);
  });

  await t.test('not without one topic, nor with a body that is no message', async () => {
    const ndjson = 'application/x-ndjson';
    const good = '{"topic":"news","message":"part"}';
    const bad: [string | Buffer, { query?: string; type?: string }, RegExp][] = [
      ['x', { query: '' }, /one topic/],
      ['x', { query: '?topic=' }, /one topic/],
      ['x', { query: '?topic=a&topic=b' }, /one topic/],
      ['x', { query: '?topic=%ff' }, /not percent-encoded UTF-8/],
      ['x', { query: '?topic=100%' }, /not percent-encoded UTF-8/],
      [Buffer.from([255]), {}, /not UTF-8/],
      [`${good}\n{"topic":"news","message":"\\ud800"}`, { type: ndjson }, /line 2: half of a surrogate pair/],
      [`${good}\n{"topic":"\\udc00","message":""}`, { type: ndjson }, /line 2: half of a surrogate pair/],
      [Buffer.from([255]), { type: ndjson }, /not UTF-8/],
      [`${good}\n{`, { type: ndjson }, /line 2 is not JSON/],
      [`${good}\n\n{"topic":"news"}`, { type: ndjson }, /line 3: /],
      [`${good}\n{"topic":"","message":"x"}`, { type: ndjson }, /line 2: /],
      [`${good}\n{"topic":"news","message":1}`, { type: ndjson }, /line 2: /],
      [`${good}\nnull`, { type: ndjson }, /line 2: /],
    ];
    for (const [body, options, says] of bad) {
      const answer = await run.publish(body, options);
      assert.equal(answer.status, 400, String(body));
      assert.match(answer.text, says);
    }
  });

  await t.test('not what is too large, announced or in chunks', async () => {
    assert.equal((await run.publish('x'.repeat(102_401))).status, 413);
    const { port } = new URL(run.publishUrl);
    const client = await connectRaw(Number(port), t);
    const head = `POST /publish?topic=news HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${run.token}\r\n`;
    client.send(`${head}Transfer-Encoding: chunked\r\n\r\n${`8000\r\n${'x'.repeat(0x8000)}\r\n`.repeat(4)}0\r\n\r\n`);
    assert.equal((await client.readResponse()).status, 413);
  });

  await t.test('not in another way', async () => {
    assert.equal((await run.publish('', { method: 'GET' })).status, 405);
    assert.equal((await run.publish('x', { query: '/more?topic=news' })).status, 404);
  });

  await t.test('so that nothing of what was refused arrived', async () => {
    await run.publish('last');
    for (const { text } of await both()) assert.equal(text, 'last');
  });

  await t.test('and the token is never logged', async () => {
    await run.uwsrp.stop();
    assert.doesNotMatch(run.uwsrp.output(), new RegExp(run.token));
  });
});

test('the public port never reaches the endpoint, and no other address has it', async (t) => {
  const run = await startPublishing(t, { UWSRP_TRUST_PROXY: 'all' });
  const socket = await subscribe(t, run);
  const { host, port, pathname } = new URL(run.publishUrl);
  const headers = { Authorization: `Bearer ${run.token}`, Host: host, 'X-Forwarded-Host': host };
  const answer = await request(run.uwsrp.port, { method: 'POST', path: `${pathname}?topic=news`, headers, body: 'x' });
  assert.equal(JSON.parse(answer.text).path, `${pathname}?topic=news`, 'the app has answered');
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const { address, family, internal } of addresses) {
    if (internal || family !== 'IPv4') continue;
    await assert.rejects(connectRaw({ host: address, port: Number(port) }, t), { code: 'ECONNREFUSED' });
  }
  await run.publish('last');
  assert.equal((await socket.nextMessage()).text, 'last');
});

test('a command on a unix socket publishes as well', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-publish-'));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o777);
  const run = await startPublishing(t, { UWSRP_APP_SOCKET: join(folder, 'app.sock') });
  const socket = await subscribe(t, run);
  assert.equal((await run.publish('over TCP')).status, 204);
  assert.equal((await socket.nextMessage()).text, 'over TCP');
});

test('handlers publish by their context, text as text and bytes as bytes', async (t) => {
  const run = await startPublishing(t);
  const [first, second] = [await subscribe(t, run), await subscribe(t, run)];
  first.send('text');
  assert.deepEqual(await second.nextMessage(), { data: Buffer.from('text'), isBinary: false, text: 'text' });
  first.send(Buffer.from('bytes'));
  assert.deepEqual(await second.nextMessage(), { data: Buffer.from('bytes'), isBinary: true, text: 'bytes' });
});

test('without a module the command has no way to publish, whatever its own environment says', async (t) => {
  const uwsrp = await startUwsrp(t, {
    args: ['node', 'apps/publish-env.js'],
    env: { UWSRP_PUBLISH_URL: 'http://127.0.0.1:1/', UWSRP_PUBLISH_TOKEN: 'of another uwsrp' },
  });
  assert.deepEqual(JSON.parse((await request(uwsrp.port)).text), { path: '/' });
});
