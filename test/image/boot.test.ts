import { match, ok, rejects, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { appFiles, runImage, spawnImage, startImage } from '../helpers/image.ts';

/** Serves at once or only when told, says so, and answers 503 until /tmp/warm is there. */
const app = {
  path: '/app/app.js',
  content: `
    const { createServer } = require('node:http');
    const { existsSync } = require('node:fs');
    const server = createServer((request, response) => {
      response.statusCode = existsSync('/tmp/warm') ? 200 : 503;
      response.end('from the app');
    });
    process.on('SIGUSR2', () => server.listen(process.env.PORT, '127.0.0.1', () => console.log('app listens')));
    process.on('SIGTERM', () => process.exit(0));
    setInterval(() => {}, 1000);
    console.log('app waits');
    if (process.argv[2] === 'now') process.emit('SIGUSR2');`,
};

test('boots an app, says where it serves, and answers through uWebSockets.js', async (t) => {
  const container = await startImage(t, { files: appFiles('node-http.js'), command: ['node', 'node-http.js'] });
  strictEqual((await request(container.address, { path: '/status/418' })).status, 418);
  const { msg } = await container.waitForLog({ port: 8080 });
  match(String(msg), /listening on port 8080/);
  strictEqual(container.stderr, '');
});

test('runs the Procfile’s web process when no command is given, and npm start without a Procfile', async (t) => {
  const Procfile = {
    path: '/app/Procfile',
    content: 'release: exit 1\nweb: uwsrp node node-http.js --from procfile\n',
  };
  const manifest = { path: '/app/package.json', content: '{"scripts":{"start":"node node-http.js --from npm"}}' };
  for (const [file, words] of [
    [Procfile, 'procfile'],
    [manifest, 'npm'],
  ] as const) {
    const container = await startImage(t, { files: [file, ...appFiles('node-http.js')] });
    const running = await container.exec('sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " "');
    match(running, new RegExp(`node node-http.js --from ${words}`));
    await container.stop();
  }
});

test('binds the public port only when the app listens', async (t) => {
  const container = await spawnImage(t, { files: [app], command: ['node', 'app.js'] });
  await container.waitForOutput('app waits');
  // Docker's own proxy takes the connection; behind it nobody listens yet, and the connection is cut.
  await rejects(request(container.address));
  const { commandPid } = await container.waitForLog({ msg: 'started the command' });
  await container.exec('sh', '-c', `kill -USR2 ${commandPid}`);
  await container.answering();
  await container.waitForOutput('listening on port 8080');
  ok(container.stdout.indexOf('app listens') < container.stdout.indexOf('listening on port 8080'));
});

test('waits for a readiness path to answer well', async (t) => {
  const container = await spawnImage(t, {
    env: { UWSRP_READY_PATH: '/up' },
    files: [app],
    command: ['node', 'app.js', 'now'],
  });
  await container.waitForOutput('app listens');
  await rejects(request(container.address));
  await container.exec('touch', '/tmp/warm');
  await container.answering();
  strictEqual((await request(container.address)).status, 200);
});

test('takes the statuses that mean ready from a list', async (t) => {
  const env = { UWSRP_READY_PATH: '/up', UWSRP_READY_STATUS: '200-299,503' };
  const container = await startImage(t, { env, files: [app], command: ['node', 'app.js', 'now'] });
  strictEqual((await request(container.address)).status, 503);
});

test('waits for a readiness file', async (t) => {
  const env = { UWSRP_READY_FILE: '/tmp/warm' };
  const container = await spawnImage(t, { env, files: [app], command: ['node', 'app.js', 'now'] });
  await container.waitForOutput('app listens');
  await rejects(request(container.address));
  await container.exec('touch', '/tmp/warm');
  await container.answering();
});

test('serves an app behind a unix socket', async (t) => {
  const container = await startImage(t, {
    env: { UWSRP_APP_SOCKET: '/tmp/app.sock' },
    files: appFiles('node-http.js'),
    command: ['node', 'node-http.js'],
  });
  strictEqual((await request(container.address, { path: '/status/200' })).status, 200);
});

test('loads modules and Redis without a word on stderr', async (t) => {
  const route = "(app) => app.get('/native', (res) => { res.end('native'); })";
  for (const [name, source] of [
    ['handlers.mjs', `await null; export default ${route};`],
    ['handlers.cjs', `module.exports = ${route};`],
  ] as const) {
    const container = await startImage(t, {
      env: { UWSRP_WS_MODULE: name, UWSRP_PUBSUB_URL: 'redis://127.0.0.1:1' },
      files: [{ path: `/app/${name}`, content: source }, ...appFiles('node-http.js')],
      command: ['node', 'node-http.js'],
    });
    strictEqual((await request(container.address, { path: '/native' })).text, 'native');
    await container.stop();
    strictEqual(container.stderr, '', name);
  }
});

test('ends with 78 and a line for each problem of the configuration', async (t) => {
  const run = await runImage(t, {
    env: { PORT: 'abc', UWSRP_DRAIN_DELAY: '5', UWSRP_FORCE_SLS: 'on' },
    command: ['true'],
  });
  strictEqual(run.exitCode, 78);
  const lines = run.stderr.trim().split('\n');
  strictEqual(lines.length, 3, run.stderr);
  for (const name of ['PORT', 'UWSRP_DRAIN_DELAY', 'UWSRP_FORCE_SSL']) match(run.stderr, new RegExp(name));
});

test('ends with 69 and the reason when the app is not ready in time', async (t) => {
  const run = await runImage(t, { env: { UWSRP_READY_TIMEOUT: '500ms' }, command: ['sleep', '60'] });
  strictEqual(run.exitCode, 69);
  match(run.stdout + run.stderr, /UWSRP_READY_TIMEOUT|PORT/);
});

test('ends with the code of a command that ends before it was ready, with 127 when there is none of that name', async (t) => {
  strictEqual((await runImage(t, { command: ['sh', '-c', 'exit 5'] })).exitCode, 5);
  const missing = await runImage(t, { command: ['no-such-server', '--port', '1'] });
  strictEqual(missing.exitCode, 127);
  match(missing.stdout + missing.stderr, /no-such-server/);
});

test('says what to give when there is no command, no Procfile and no package.json', async (t) => {
  const run = await runImage(t);
  ok(run.exitCode !== 0);
  match(run.stderr, /UWSRP_COMMAND|Procfile/);
});
