import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { tellBytecode } from '../helpers/bytecode.ts';
import { request } from '../helpers/http.ts';
import { runImage, shellInImage, startImage } from '../helpers/image.ts';

const STRANGER = '23456:34567';

/** An app of one line, for a container that no file can be put into. */
const APP = `require('node:http').createServer((request, response) => response.end('served')).listen(process.env.PORT)`;

test('starts from bytecode of its build, whoever the user is, where nothing can be written', async (t) => {
  for (const user of ['0', 'node', STRANGER]) {
    const run = await runImage(t, {
      user,
      readOnlyRootfs: true,
      entrypoint: ['/opt/uwsrp/bin/node'],
      command: ['--eval', tellBytecode('/opt/uwsrp/lib')],
    });
    match(run.stdout, /^\d+\.\d+\.\d+\nfalse\n$/, `as ${user}`);
    strictEqual(run.exitCode, 0);
  }
});

test('serves as a random user, where nothing can be written', async (t) => {
  const container = await startImage(t, { user: STRANGER, readOnlyRootfs: true, command: ['node', '--eval', APP] });
  strictEqual((await request(container.address, { path: '/' })).text, 'served');
});

test('starts without the bytecode, and with some that does not fit', async (t) => {
  const script = `
    cd /opt/uwsrp/lib
    rm uwsrp.cache && uwsrp --version
    echo broken >uwsrp.cache && uwsrp --version`;
  const lines = (await shellInImage(t, script, { user: '0' })).trim().split('\n');
  strictEqual(lines.length, 2);
  match(lines[0]!, /^\d+\.\d+\.\d+$/);
  strictEqual(lines[1], lines[0]);
});

test('runs the same code as dist/ holds, and says of a command that is missing what that says', async (t) => {
  const outputs: string[] = [];
  for (const main of ['start.cjs', 'dist/main.js']) {
    const path = `/opt/uwsrp/lib/${main}`;
    const help = await runImage(t, { entrypoint: ['/opt/uwsrp/bin/node'], command: [path, '--help'] });
    const missing = await runImage(t, { entrypoint: ['/opt/uwsrp/bin/node'], command: [path, 'no-such-command', 'x'] });
    strictEqual(missing.exitCode, 127);
    outputs.push(help.stdout, missing.stderr, missing.stdout.replaceAll(/"time":"[^"]+"/g, ''));
  }
  deepStrictEqual(outputs.slice(0, 3), outputs.slice(3));
});

test('what uwsrp needs to load and log prettily, and Redis, is found from the one file', async (t) => {
  const pretty = await runImage(t, { env: { UWSRP_LOG_FORMAT: 'pretty' }, command: ['no-such-command', 'x'] });
  strictEqual(pretty.exitCode, 127);
  match(pretty.stdout, /FATAL.*: .*no-such-command/);
  const dotenv = await runImage(t, {
    files: [{ path: '/app/.env', content: 'UWSRP_MODE=off\nGREETING="hello, you"\n' }],
    command: ['sh', '-c', 'echo $GREETING'],
  });
  strictEqual(dotenv.stdout, 'hello, you\n');
  const redis = await runImage(t, {
    env: { UWSRP_WS_MODULE: 'module.mjs', UWSRP_PUBSUB_URL: 'redis://127.0.0.1:1' },
    files: [{ path: '/app/module.mjs', content: 'export default () => {};\n' }],
    command: ['sh', '-c', 'exit 3'],
  });
  strictEqual(redis.exitCode, 3);
  ok(!redis.stdout.includes('a fault of uwsrp'), redis.stdout);
});

test('the command gets nothing in its environment from how uwsrp is started', async (t) => {
  const bare = await runImage(t, { entrypoint: ['/usr/bin/env'] });
  const through = await runImage(t, { env: { UWSRP_MODE: 'off' }, command: ['env'] });
  const names = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]!)
      .filter((name) => !['UWSRP_MODE', 'PWD', 'HOSTNAME', 'HOME'].includes(name))
      .sort();
  deepStrictEqual(names(through.stdout), names(bare.stdout));
});
