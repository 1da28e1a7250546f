import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { lastingPort } from '../helpers/lasting-port.ts';
import { nativeModule } from '../helpers/native.ts';
import { type PublishRun, startPublishing } from '../helpers/publish.ts';
import { startRedis, TestRedis } from '../helpers/redis.ts';
import { inRepository } from '../helpers/repository.ts';
import { startScriptedApp } from '../helpers/scripted-app.ts';
import { until } from '../helpers/until.ts';
import { type LogLine, spawnUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

const start = (t: TestContext, url: string) => startPublishing(t, { UWSRP_PUBSUB_URL: url });

async function subscribe(t: TestContext, { uwsrp }: PublishRun): Promise<TestWebSocket> {
  const socket = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/topics/news`);
  assert.equal((await socket.nextMessage()).text, 'subscribed');
  return socket;
}

const logged = ({ uwsrp }: PublishRun, pattern: RegExp): Promise<LogLine> =>
  uwsrp.waitForLog(({ msg }) => pattern.test(msg ?? ''), String(pattern), 15_000);

test('what is published on one instance reaches subscribers on all, once', async (t) => {
  const redis = await startRedis(t);
  const instances = [await start(t, redis.url()), await start(t, redis.url()), await start(t, redis.url('/0'))];
  const elsewhere = await start(t, redis.url('/1'));
  const sockets: TestWebSocket[] = [];
  for (const run of instances) sockets.push(await subscribe(t, run));
  const outside = await subscribe(t, elsewhere);

  await t.test('as text and as bytes', async () => {
    await instances[0]!.publish('grüße');
    for (const socket of sockets) {
      const { text, isBinary } = await socket.nextMessage();
      assert.deepEqual([text, isBinary], ['grüße', false]);
    }
    const bytes = Buffer.from([0, 255, 254]);
    await instances[1]!.publish(bytes, { type: 'application/octet-stream' });
    for (const socket of sockets) {
      const { data, isBinary } = await socket.nextMessage();
      assert.deepEqual([data, isBinary], [bytes, true]);
    }
  });

  await t.test('from handlers too', async () => {
    sockets[2]!.send('said');
    for (const socket of sockets) assert.equal((await socket.nextMessage()).text, 'said');
  });

  await t.test('in the order of each publisher', async () => {
    const count = 1000;
    const line = (name: string, index: number) => JSON.stringify({ topic: 'news', message: `${name} ${index}` });
    const many = (name: string) => Array.from({ length: count }, (_, index) => line(name, index)).join('\n');
    const options = { query: '', type: 'application/x-ndjson' };
    await Promise.all(['0', '1'].map((name, index) => instances[index]!.publish(many(name), options)));
    for (const socket of sockets) {
      const next: Record<string, number> = { 0: 0, 1: 0 };
      for (let index = 0; index < 2 * count; index += 1) {
        const [name, number] = (await socket.nextMessage()).text.split(' ');
        assert.equal(Number(number), next[name!]);
        next[name!] = Number(number) + 1;
      }
      assert.deepEqual(next, { 0: count, 1: count });
    }
  });

  await t.test('and what others put on the channel hurts nobody', async () => {
    const stranger = new Redis(redis.url());
    t.after(() => stranger.disconnect());
    assert.equal(await stranger.publish('uwsrp:0:publish', 'no envelope'), 3);
    for (const run of instances) await logged(run, /something that is no message/);
  });

  await t.test('and nobody else', async () => {
    await elsewhere.publish('in database 1');
    assert.equal((await outside.nextMessage()).text, 'in database 1');
    await instances[0]!.publish('last');
    for (const socket of sockets) assert.equal((await socket.nextMessage()).text, 'last');
  });
});

test('an instance goes on without Redis, comes back to it, and says what was missed', async (t) => {
  const redis = await startRedis(t);
  const [first, second] = [await start(t, redis.url()), await start(t, redis.url())];
  const [here, there] = [await subscribe(t, first), await subscribe(t, second)];
  await first.publish('before');
  for (const socket of [here, there]) assert.equal((await socket.nextMessage()).text, 'before');

  await redis.stop();
  for (const run of [first, second]) await logged(run, /^Redis is away/);
  for (const text of ['one', 'two', 'three']) {
    assert.equal((await first.publish(text)).status, 204);
    assert.equal((await here.nextMessage()).text, text);
  }

  await redis.start();
  const back = await logged(first, /^Redis is back/);
  assert.match(back.msg!, /: 3 messages of this instance did not reach the others/);
  assert.equal(back.unsent, 3);
  assert.ok((back.awayMs as number) > 0);
  await logged(second, /^Redis is back: 0 messages/);
  await first.publish('after');
  for (const socket of [here, there]) assert.equal((await socket.nextMessage()).text, 'after');
  assert.equal((await logged(second, /messages of another instance did not come/)).missed, 3);
});

test('a boot does not wait for a Redis that is not there, and finds it later', async (t) => {
  const redis = new TestRedis(await lastingPort(), []);
  t.after(() => redis.stop());
  const [first, second] = [await start(t, redis.url()), await start(t, redis.url())];
  const [here, there] = [await subscribe(t, first), await subscribe(t, second)];
  assert.match(String((await logged(first, /^Redis is away/)).reason), /ECONNREFUSED/);
  await first.publish('alone');
  assert.equal((await here.nextMessage()).text, 'alone');
  await redis.start();
  for (const run of [first, second]) await logged(run, /^Redis is back/);
  await first.publish('together');
  for (const socket of [here, there]) assert.equal((await socket.nextMessage()).text, 'together');
});

test('a Redis that takes connections and says nothing holds up neither the port for long nor a stop at all', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const connections = new Set<Socket>();
  server.on('connection', (socket) => connections.add(socket.on('error', () => {})));
  t.after(() => {
    for (const socket of connections) socket.destroy();
  });
  const path = nativeModule(t, '');
  const env = {
    UWSRP_PUBSUB_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    UWSRP_WS_MODULE: path,
  };
  const app = await startScriptedApp(t, () => {});
  const [patient, hasty] = [spawnUwsrp(t, { appPort: app.port, env }), spawnUwsrp(t, { appPort: app.port, env })];
  await app.until(({ accepted }) => accepted.length >= 2, 'both to find the app ready');
  await until(() => connections.size >= 4, 'connections to Redis');
  // Now it waits for Redis, and for nothing else.
  await delay(200);
  const { exited } = hasty;
  hasty.child.kill('SIGTERM');
  await exited;
  assert.ok(!hasty.logs().some(({ port }) => port !== undefined), 'it listened');
  await patient.waitForLog(({ port }) => port !== undefined, 'of the port', 10_000);
  const away = await patient.waitForLog(({ msg }) => /^Redis is away/.test(msg ?? ''), 'that Redis is away');
  assert.equal(away.reason, 'it does not answer');
  await patient.stop();
});

test('the password is used and never logged', async (t) => {
  const redis = await startRedis(t, ['--requirepass', 'hush-password']);
  const url = (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;
  const [first, second] = [await start(t, url('hush-password')), await start(t, url('hush-password'))];
  const there = await subscribe(t, second);
  await first.publish('with the password');
  assert.equal((await there.nextMessage()).text, 'with the password');
  const wrong = await start(t, url('hush-wrong'));
  assert.match(String((await logged(wrong, /^Redis is away/)).reason), /WRONGPASS|NOAUTH|password/);
  for (const { uwsrp } of [first, second, wrong]) {
    await uwsrp.stop();
    assert.doesNotMatch(uwsrp.output(), /hush/);
  }
});

test('the password is not logged either when Redis repeats it', async (t) => {
  for (const said of ["unknown command 'AUTH', with args beginning with: 'hush-pass", 'no hush-password here']) {
    const server = createServer((socket) => {
      socket.on('error', () => {}).on('data', () => socket.end(`-ERR ${said}\r\n`));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const run = await start(t, `redis://:hush-password@127.0.0.1:${port}`);
    assert.match(String((await logged(run, /^Redis is away/)).reason), /unknown command 'AUTH'$|no \*\*\* here/);
    await run.uwsrp.stop();
    assert.doesNotMatch(run.uwsrp.output(), /hush/);
  }
});

test('a user of Redis who may do no more than what the README says joins instances', async (t) => {
  const [, rules] = /`(\+publish [^`]+)`/.exec(readFileSync(inRepository('README.md'), 'utf8'))!;
  const redis = await startRedis(t, [
    '--user',
    'uwsrp',
    'on',
    '>secret',
    'resetchannels',
    '-@all',
    ...rules!.split(' '),
  ]);
  const url = redis.url().replace('//', '//uwsrp:secret@');
  const [here, other] = [await start(t, url), await start(t, url)];
  const reader = await subscribe(t, other);
  await here.publish('by a user with few rights');
  assert.equal((await reader.nextMessage()).text, 'by a user with few rights');
  for (const { uwsrp } of [here, other]) {
    await uwsrp.stop();
    assert.doesNotMatch(uwsrp.stdout, /Redis is away/);
  }
});

test('a Redis without TLS shows as one that does not answer when TLS is asked for', async (t) => {
  const redis = await startRedis(t);
  const run = await start(t, redis.url().replace('redis:', 'rediss:'));
  assert.match(String((await logged(run, /^Redis is away/)).reason), /^(it does not answer|connect ETIMEDOUT)$/);
});
