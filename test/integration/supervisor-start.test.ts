import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatTarget } from '../../src/lib/upstream-target.ts';
import { findCommand } from '../../src/supervisor/find-command.ts';
import { listProcesses } from '../../src/supervisor/process-table.ts';
import { request } from '../helpers/http.ts';
import { inRepository } from '../helpers/repository.ts';
import { supervise } from '../helpers/supervise.ts';

const COMMANDS = {
  Node: ['node', 'listen.js'],
  Python: ['python3', 'forks.py'],
  'a shell that waits for it': ['/bin/sh', '-c', 'node listen.js & wait'],
  'a shell that becomes it': ['/bin/sh', '-c', 'exec node listen.js'],
};

for (const [what, command] of Object.entries(COMMANDS)) {
  test(`a web command in ${what} is ready on its private port and ends with its whole group`, async (t) => {
    const { supervisor, start, ended, leaderPid, processes } = supervise(t, { command });
    const target = await start();
    assert.ok(target.kind === 'tcp' && target.host === '127.0.0.1');
    assert.equal((await request(target.port)).status, 200);
    assert.ok(supervisor.isRunning);
    assert.ok(processes().includes(leaderPid()));

    supervisor.terminate();
    await ended();
    assert.ok(!supervisor.isRunning);
    assert.deepEqual(processes(), []);
    assert.deepEqual(
      listProcesses().filter((entry) => entry.groupId === leaderPid() && !entry.isZombie),
      [],
    );
  });
}

test('npm start is started, served and ended', async (t) => {
  const files = new Map([['/app/package.json', '{"scripts":{"start":"node server.js"}}']]);
  const { file, args } = findCommand({
    args: [],
    config: { command: undefined, process: 'web', workDirectory: '/app' },
    readFile: (path) => files.get(path),
    fileExists: (path) => files.has(path),
  });
  const { supervisor, start, ended, processes } = supervise(t, {
    command: [file, ...args],
    workDirectory: inRepository('test', 'fixtures', 'commands', 'npm-app'),
    env: { npm_config_loglevel: 'silent', npm_config_update_notifier: 'false', HOME: tmpdir() },
  });
  const target = await start();
  assert.ok(target.kind === 'tcp');
  assert.equal((await request(target.port)).status, 200);
  supervisor.terminate();
  await ended();
  assert.deepEqual(processes(), []);
});

test('the private port comes in the variable of that name', async (t) => {
  const { supervisor, start, ended } = supervise(t, {
    command: ['/bin/sh', '-c', 'exec node listen.js 127.0.0.1 $APP_LISTEN'],
    env: { PORT: '5999', UWSRP_APP_PORT_VARIABLE: 'APP_LISTEN' },
  });
  const target = await start();
  assert.ok(target.kind === 'tcp' && target.port !== 5999);
  supervisor.terminate();
  await ended();
});

test('an app on ::1 alone is found there', async (t) => {
  const { supervisor, start, ended, warnings } = supervise(t, { command: ['node', 'listen.js', '::1'] });
  assert.match(formatTarget(await start()), /^\[::1\]:\d+$/);
  assert.deepEqual(warnings(), []);
  supervisor.terminate();
  await ended();
});

test('with a path the app must answer on it, and with a file that must be there too', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'initialized');
  writeFileSync(file, '');
  const { supervisor, start, ended } = supervise(t, {
    command: ['node', 'listen.js'],
    env: { UWSRP_READY_PATH: '/up', UWSRP_READY_FILE: file },
  });
  await start();
  supervisor.terminate();
  await ended();
});

test('a command that is not ready in time is ended, and the reason is told', async (t) => {
  const { start, ended, processes } = supervise(t, {
    command: ['node', 'listen.js'],
    env: { UWSRP_READY_PATH: '/up', UWSRP_READY_STATUS: '204', UWSRP_READY_TIMEOUT: '1s' },
  });
  await assert.rejects(start(), {
    code: 'APP_NOT_READY',
    message: 'the command was not ready within 1s (UWSRP_READY_TIMEOUT): GET /up answered 200',
  });
  assert.equal((await ended()).exitCode, 0);
  assert.deepEqual(processes(), []);
});

test('a command that ends before it is ready gives its own exit code', async (t) => {
  const { start, ended } = supervise(t, { command: ['python3', '-c', 'raise SystemExit(3)'] });
  await assert.rejects(start(), {
    code: 'COMMAND_ENDED',
    exitCode: 3,
    message: 'the command "python3 -c raise SystemExit(3)" exited with code 3 before it was ready',
  });
  assert.equal((await ended()).exitCode, 3);
});

test('a command that a signal ends before it is ready gives 128 and the signal', async (t) => {
  const { start } = supervise(t, { command: ['/bin/sh', '-c', 'kill -KILL $$'] });
  await assert.rejects(start(), { code: 'COMMAND_ENDED', exitCode: 137, message: /was ended by SIGKILL before/ });
});

test('a command that goes into the background at once is told to stay, and what it left is ended', async (t) => {
  const { start, processes } = supervise(t, { command: ['/bin/sh', '-c', 'sleep 1000 & exit 0'] });
  await assert.rejects(start(), {
    code: 'COMMAND_ENDED',
    exitCode: 0,
    message: /exited with code 0 before it was ready: a server must stay in the foreground/,
  });
  assert.deepEqual(processes(), []);
});

test('a shell line whose program is not there gives 127, as the shell says', async (t) => {
  const { start } = supervise(t, { command: ['/bin/sh', '-c', 'exec 2>/dev/null; no-such-program'] });
  await assert.rejects(start(), { code: 'COMMAND_ENDED', exitCode: 127 });
});

test('a command that is not there, may not be run or is a directory is told as that', async (t) => {
  const cases = [
    {
      command: 'no-such-program',
      code: 'COMMAND_NOT_FOUND',
      exitCode: 127,
      message: /there is no no-such-program in PATH/,
    },
    { command: './listen.js', code: 'COMMAND_NOT_EXECUTABLE', exitCode: 126, message: /listen\.js is not executable/ },
    { command: './npm-app', code: 'COMMAND_NOT_EXECUTABLE', exitCode: 126, message: /npm-app is a directory/ },
  ];
  for (const { command, code, exitCode, message } of cases) {
    const { supervisor, start, ended } = supervise(t, { command: [command] });
    await assert.rejects(start(), { code, message });
    assert.deepEqual(await ended(), { exitCode, description: 'was not started' });
    assert.ok(!supervisor.isRunning);
  }
});

test('a program that was built for another system is told as that', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // As a program from Alpine is on Debian: it names a loader that is not there.
  const program = readFileSync('/bin/sleep', 'latin1').replace('/ld-linux', '/ld-other');
  const file = join(folder, 'server');
  writeFileSync(file, program, { encoding: 'latin1', mode: 0o755 });
  const { start } = supervise(t, { command: [file] });
  await assert.rejects(start(), {
    code: 'COMMAND_NOT_EXECUTABLE',
    message: `the command "${file}" cannot be run: the loader that ${file} needs is missing: it was built for another system`,
  });
});
