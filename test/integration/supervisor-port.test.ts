import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { request } from '../helpers/http.ts';
import { supervise } from '../helpers/supervise.ts';
import { until } from '../helpers/until.ts';

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function listen(t: TestContext, where: { path: string } | { port: number; host: string }): Promise<Server> {
  const server = createServer().listen(where);
  t.after(() => server.close());
  await once(server, 'listening');
  return server;
}

test('a command on a port of its own is found out, and the remedy told', async (t) => {
  const { start } = supervise(t, {
    command: ['node', 'listen.js', '127.0.0.1', '0'],
    env: { UWSRP_READY_TIMEOUT: '1s' },
  });
  await assert.rejects(start(), {
    code: 'APP_NOT_READY',
    message:
      /^the command was not ready within 1s \(UWSRP_READY_TIMEOUT\): connection refused on 127\.0\.0\.1:(\d+) and \[::1\]:\1; the command listens on (\d+), but PORT is \1: make it read \$PORT or set UWSRP_APP_PORT=\2$/,
  });
});

test('the wrong port of a grandchild in another group is found as well', async (t) => {
  const { start, processes } = supervise(t, {
    command: ['/bin/sh', '-c', 'setsid node listen.js 127.0.0.1 0 & pid=$!; trap "kill $pid; exit" TERM; wait'],
    env: { UWSRP_READY_TIMEOUT: '1s' },
  });
  await assert.rejects(start(), { code: 'APP_NOT_READY', message: /the command listens on \d+, but PORT is/ });
  await until(() => processes().length === 0, 'the grandchild to end, which left the group');
});

test('an app that is open to all interfaces is warned of once', async (t) => {
  for (const host of ['0.0.0.0', '::']) {
    const { supervisor, start, ended, warnings } = supervise(t, { command: ['node', 'listen.js', host] });
    await start();
    assert.equal(warnings().length, 1);
    assert.match(warnings()[0]!, /listens on all interfaces \((0\.0\.0\.0|::)\).*make it listen on 127\.0\.0\.1/);
    supervisor.terminate();
    await ended();
  }
});

test('a given port may be served by another process', async (t) => {
  const sidecar = await listen(t, { port: 0, host: '127.0.0.1' });
  const { port } = sidecar.address() as AddressInfo;
  const { supervisor, start, ended, warnings } = supervise(t, {
    command: ['sleep', '1000'],
    env: { UWSRP_APP_PORT: String(port) },
  });
  assert.deepEqual(await start(), { kind: 'tcp', host: '127.0.0.1', port });
  assert.deepEqual(warnings(), []);
  supervisor.terminate();
  await ended();
});

test('a socket path is the PORT of the command, and a stale file there is no obstacle', async (t) => {
  const path = join(temporaryFolder(t), 'app.sock');
  const crashed = await listen(t, { path: `${path}.crashed` });
  renameSync(`${path}.crashed`, path);
  crashed.close();
  await once(crashed, 'close');
  assert.ok(existsSync(path));

  const { supervisor, start, ended } = supervise(t, {
    command: ['node', 'listen.js'],
    env: { UWSRP_APP_SOCKET: path, UWSRP_READY_PATH: '/' },
  });
  assert.deepEqual(await start(), { kind: 'unix', path });
  assert.equal((await request({ path })).status, 200);
  supervisor.terminate();
  await ended();
});

test('a socket that is served already is left alone', async (t) => {
  const path = join(temporaryFolder(t), 'app.sock');
  await listen(t, { path });
  const { supervisor, start, ended } = supervise(t, { command: ['sleep', '1000'], env: { UWSRP_APP_SOCKET: path } });
  assert.deepEqual(await start(), { kind: 'unix', path });
  assert.ok(existsSync(path));
  supervisor.terminate();
  await ended();
});

test('an app on a port where a socket was asked for is told', async (t) => {
  const path = join(temporaryFolder(t), 'app.sock');
  const { start } = supervise(t, {
    command: ['node', 'listen.js', '127.0.0.1', '0'],
    env: { UWSRP_APP_SOCKET: path, UWSRP_READY_TIMEOUT: '1s' },
  });
  await assert.rejects(start(), {
    code: 'APP_NOT_READY',
    message: /there is no socket on unix:.*; the command listens on \d+, but PORT is the socket .*app\.sock: make it/,
  });
});

/** A test that takes the command's port away from it: the fixture tells its PORT and waits for the answer. */
async function takePorts(t: TestContext, times: number) {
  const path = join(temporaryFolder(t), 'control.sock');
  const control = await listen(t, { path });
  const taken: number[] = [];
  control.on('connection', async (socket: Socket) => {
    socket.on('error', () => {});
    const [data] = (await once(socket, 'data')) as [Buffer];
    if (taken.length < times) {
      const port = Number(data.toString());
      taken.push(port);
      await listen(t, { port, host: '127.0.0.1' });
    }
    socket.write('go on');
  });
  return { path, taken };
}

test('a port that another process took meanwhile is given up, and the command started on another', async (t) => {
  const { path, taken } = await takePorts(t, 1);
  const { supervisor, start, ended, warnings } = supervise(t, { command: ['node', 'ask-first.js', path] });
  const target = await start();
  assert.ok(target.kind === 'tcp');
  assert.equal(taken.length, 1);
  assert.notEqual(target.port, taken[0]);
  assert.match(
    warnings()[0]!,
    new RegExp(`^port ${taken[0]}, which was free for the command, was taken by process ${process.pid} .*starting`),
  );
  assert.equal((await request(target.port)).status, 200);
  supervisor.terminate();
  await ended();
});

test('a command whose port is taken again and again is not started for ever', async (t) => {
  const { path, taken } = await takePorts(t, 10);
  const { start, processes } = supervise(t, { command: ['node', 'ask-first.js', path] });
  await assert.rejects(start(), {
    code: 'APP_NOT_READY',
    message: /was taken by process \d+ .*: set UWSRP_APP_PORT to a port that nobody uses/,
  });
  assert.equal(taken.length, 3);
  assert.deepEqual(processes(), []);
});
