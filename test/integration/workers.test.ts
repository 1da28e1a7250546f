import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { stopUnderRequests, untilRefused } from '../helpers/during-stop.ts';
import { request } from '../helpers/http.ts';
import { moduleFile, startNative } from '../helpers/native.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, startScriptedApp } from '../helpers/scripted-app.ts';
import { until } from '../helpers/until.ts';
import { spawnUwsrp, startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const WORKERS = { UWSRP_WORKERS: '3' };
/** So many connections that none of three workers is left out: each gets one with a chance of 1/3. */
const MANY = 90;

/** Who answered, as the lines of the access log tell. */
const workersOf = (uwsrp: Uwsrp) =>
  new Set(
    uwsrp
      .logs()
      .filter(({ msg }) => msg === 'request')
      .map(({ worker }) => worker),
  );

async function ask(uwsrp: Uwsrp, count: number): Promise<number[]> {
  const answers = Array.from({ length: count }, () => request(uwsrp.port, { path: '/status/200' }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

test('connections are spread over the workers, and each answers', async (t) => {
  const env = { ...WORKERS, UWSRP_ACCESS_LOG: 'all' };
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'], env });
  assert.deepEqual(new Set(await ask(uwsrp, MANY)), new Set([200]));
  await until(() => workersOf(uwsrp).size === 3, 'lines of three workers');
  assert.deepEqual(workersOf(uwsrp), new Set([1, 2, 3]));
  const listening = await uwsrp.waitForLog(({ port }) => port === uwsrp.port, 'of the port');
  assert.equal(listening.workers, 3);
  assert.deepEqual(await uwsrp.stop(), { code: 0, signal: null });
});

test('a stop lets every worker answer what it has, and closes WebSockets with 1001', async (t) => {
  const held: (() => void)[] = [];
  const app = await startScriptedApp(
    t,
    eachRequest(async ({ target }) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return respond(target);
    }),
  );
  const uwsrp = await startUwsrp(t, { appPort: app.port, env: WORKERS });
  const waiting = await Promise.all(
    Array.from({ length: MANY }, async (_, index) => {
      const client = await connectRaw(uwsrp.port, t);
      client.send(`GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
      return client;
    }),
  );
  await app.until(({ requests }) => requests === MANY, 'all requests at the app');
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await untilRefused(uwsrp);
  for (const release of held) release();
  for (const [index, client] of waiting.entries()) {
    const response = await client.readResponse();
    assert.equal(response.body.toString(), `/${index}`);
    assert.equal(response.headers.get('connection'), 'close');
  }
  assert.deepEqual(await exited, { code: 143, signal: null });
});

test('WebSockets of all workers are relayed, and get 1001 at the stop', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/express-ws.js'], env: WORKERS });
  const sockets = await Promise.all(
    Array.from({ length: 30 }, () => openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/echo`)),
  );
  for (const [index, socket] of sockets.entries()) {
    assert.equal((await socket.exchange(`message ${index}`)).text, `message ${index}`);
  }
  await uwsrp.stop();
  for (const socket of sockets) assert.equal((await socket.closed).code, 1001);
});

test('a request that races with the stop is served whole, or gets not one byte', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'], env: WORKERS });
  const { exit, wrong } = await stopUnderRequests(t, uwsrp, { clients: 30, answers: 150 });
  assert.deepEqual(exit, { code: 0, signal: null });
  assert.deepEqual(wrong, []);
});

test('during UWSRP_DRAIN_DELAY the health path says 503, whoever is asked', async (t) => {
  const env = { ...WORKERS, UWSRP_HEALTH_PATH: '/up', UWSRP_DRAIN_DELAY: '1500ms' };
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/node-http.js'], env });
  const health = async () => {
    const answers = await Promise.all(Array.from({ length: MANY }, () => request(uwsrp.port, { path: '/up' })));
    return new Set(answers.map(({ status }) => status));
  };
  assert.deepEqual(await health(), new Set([200]));
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await uwsrp.waitForLog(({ msg }) => msg === 'stopping', 'that it is stopping');
  await until(async () => (await health()).size === 1, 'one and the same health of all workers');
  assert.deepEqual(await health(), new Set([503]));
  assert.deepEqual(await exited, { code: 0, signal: null });
});

test('a port that is taken is not shared with its owner', async (t) => {
  const owner = createServer().listen(0);
  await new Promise((resolve) => owner.once('listening', resolve));
  t.after(() => owner.close());
  const { port } = owner.address() as { port: number };
  const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { ...WORKERS, PORT: `${port}` } });
  assert.equal((await uwsrp.exited).code, 71);
  assert.match(uwsrp.output(), /another process listens on it/);
});

test('two of ours do not share a port, workers or not', async (t) => {
  const first = await startUwsrp(t, { args: ['node', 'apps/node-http.js'], env: WORKERS });
  for (const env of [WORKERS, {}]) {
    const second = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { ...env, PORT: `${first.port}` } });
    assert.equal((await second.exited).code, 71);
  }
});

test('what is published on one worker, or by the command, reaches each subscriber once, in order', async (t) => {
  const { uwsrp, app, url } = await startNative(
    t,
    `app.ws('/news', {
      open: (ws) => { ws.subscribe('news'); },
      message: (ws, message) => { for (let i = 0; i < 5; i += 1) context.publish('news', text(message) + ' ' + i); },
    });
    app.get('/publish-url', (res) => { res.end('here'); });`,
    { env: WORKERS },
  );
  const sockets = await Promise.all(Array.from({ length: 40 }, () => openWebSocket(t, url('/news'))));
  sockets[0]!.send('from a client');
  for (const socket of sockets) {
    for (let i = 0; i < 5; i += 1) assert.equal((await socket.nextMessage()).text, `from a client ${i}`);
  }
  // The next message of each is the next one that was published: none came twice.
  sockets[1]!.send('again');
  for (const socket of sockets) assert.equal((await socket.nextMessage()).text, 'again 0');
  assert.equal(app.port > 0 && uwsrp.hasExited, false);
});

const FAULTY = `
  app.get('/throw', (res) => { res.end('soon'); setTimeout(() => { throw new Error('of a timer'); }); });
  app.get('/worker', (res) => { res.end('alive'); });`;

test('a worker that ends by an error is replaced, and that is said; the others go on', async (t) => {
  const { uwsrp } = await startNative(t, FAULTY, { env: { ...WORKERS, UWSRP_ACCESS_LOG: 'all' } });
  const clients = await Promise.all(Array.from({ length: MANY }, () => connectRaw(uwsrp.port, t)));
  for (const client of clients) client.send('GET /worker HTTP/1.1\r\nHost: a\r\n\r\n');
  for (const client of clients) assert.equal((await client.readResponse()).status, 200);
  assert.equal((await request(uwsrp.port, { path: '/throw' })).status, 200);
  const said = await uwsrp.waitForLog(({ msg }) => /another one takes its place/.test(`${msg}`), 'of the replacement');
  assert.match(`${said.msg}`, /worker [123] has ended: .*Error: of a timer/s);
  const again = await uwsrp.waitForLog(({ msg }) => /serves again/.test(`${msg}`), 'of the new worker');
  const number = /worker ([123]) has ended/.exec(`${said.msg}`)![1]!;
  assert.equal(again.msg, `worker ${number} serves again`);

  // Its clients were cut, and no others.
  let cut = 0;
  for (const client of clients) {
    client.send('GET /worker HTTP/1.1\r\nHost: a\r\n\r\n');
    const isServed = await client.readResponse().then(
      () => true,
      () => false,
    );
    if (!isServed) cut += 1;
  }
  assert.ok(cut > 0 && cut < MANY, `${cut} were cut`);
  const before = uwsrp.logs().length;
  const answers = await Promise.all(Array.from({ length: MANY }, () => request(uwsrp.port, { path: '/worker' })));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const workersSince = () =>
    new Set(
      uwsrp
        .logs()
        .slice(before)
        .map(({ worker }) => worker),
    );
  await until(() => workersSince().has(Number(number)), 'an answer of the new worker');
  assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
});

test('workers that end again and again end the service with 70', async (t) => {
  const { uwsrp } = await startNative(t, FAULTY, { env: { UWSRP_WORKERS: '2' } });
  const { exited } = uwsrp;
  const provoke = async () => {
    while (!uwsrp.hasExited) {
      await request(uwsrp.port, { path: '/throw' }).catch(() => undefined);
      await delay(5);
    }
  };
  await Promise.all([provoke(), exited]);
  assert.equal((await exited).code, 70);
  assert.match(uwsrp.output(), /so have 10 others in the last minute/);
});

for (const [where, body, args] of [
  [
    'while it is loaded',
    'setTimeout(() => { throw new Error("too early"); }); return new Promise(() => {});',
    ['sleep', '1000'],
  ],
  ['before the app is ready', 'setTimeout(() => { throw new Error("too early"); }, 500);', ['sleep', '1000']],
  // A worker's thread lives on for half a second, in which the app gets ready.
  [
    'right before the app is ready',
    'setTimeout(() => { throw new Error("too early"); });',
    ['node', 'apps/node-http.js'],
  ],
] as const) {
  for (const workers of ['1', '2']) {
    test(`an error of the module ${where} ends the boot with 70 and is told (${workers} at work)`, async (t) => {
      const path = moduleFile(t, `export default () => { ${body} };`);
      const env = { UWSRP_WORKERS: workers, UWSRP_WS_MODULE: path };
      const uwsrp = spawnUwsrp(t, { args, env });
      assert.equal((await uwsrp.exited).code, 70);
      assert.match(uwsrp.output(), /too early/);
    });
  }
}

test('a module that cannot be loaded ends the boot with 78, before the command is started', async (t) => {
  const path = moduleFile(t, 'export default () => { throw new Error("broken here"); };');
  const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { ...WORKERS, UWSRP_WS_MODULE: path } });
  assert.equal((await uwsrp.exited).code, 78);
  assert.match(uwsrp.output(), /UWSRP_WS_MODULE.*broken here/s);
  assert.doesNotMatch(uwsrp.output(), /started the command/);
});

test('SIGHUP opens the log file anew for every worker', async (t) => {
  const folder = folderOf(t);
  const file = join(folder, 'log');
  const env = { ...WORKERS, UWSRP_ACCESS_LOG: 'all', UWSRP_LOG_FILE: file };
  const app = await startScriptedApp(
    t,
    eachRequest(() => respond('here')),
  );
  // The signal is the command's, too.
  const uwsrp = spawnUwsrp(t, { appPort: app.port, args: ['sh', '-c', 'trap "" HUP; exec sleep 1000'], env });
  const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
  const portLine = () => lines(file).find((line) => line.includes('listening on port'));
  await until(() => portLine() !== undefined, 'the line that names the port');
  const { port } = JSON.parse(portLine()!) as { port: number };
  renameSync(file, `${file}.1`);
  uwsrp.child.kill('SIGHUP');
  const workers = () => new Set(lines(file).map((line) => (JSON.parse(line) as { worker?: number }).worker));
  await until(async () => {
    await Promise.all(Array.from({ length: 20 }, () => request(port, { path: '/status/200' })));
    return [1, 2, 3].every((worker) => workers().has(worker));
  }, 'lines of all workers in the new file');
  await uwsrp.stop();
});

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-workers-'));
  // In the image another user writes there.
  chmodSync(folder, 0o777);
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}
