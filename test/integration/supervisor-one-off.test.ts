import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { runOneOff } from '../../src/supervisor/one-off.ts';
import { readProcess } from '../../src/supervisor/process-table.ts';
import { runProgram } from '../helpers/program.ts';
import { inRepository } from '../helpers/repository.ts';
import { toCommand } from '../helpers/supervise.ts';

const ONE_OFF = [process.execPath, inRepository('build', 'test', 'helpers', 'one-off-main.js')];
/** Where this Node cannot replace itself, both ways are the same. */
const WAYS = { 'by the best way of this Node': {}, 'as a child': { AS_CHILD: '1' } };

for (const [way, env] of Object.entries(WAYS)) {
  test(`a one-off command runs as if uwsrp were not there (${way})`, async (t) => {
    const program = runProgram(
      t,
      [...ONE_OFF, '/bin/sh', '-c', 'read line; echo "$line $PORT"; echo err >&2; exit 3'],
      {
        ...env,
        PORT: '5000',
      },
    );
    program.write('typed\n');
    assert.equal(await program.exit, 3);
    assert.match(program.output(), /typed 5000\n/);
    assert.match(program.output(), /err\n/);
    assert.doesNotMatch(program.output(), /Warning/);
  });

  test(`a one-off command stays in the process group, and signals reach it (${way})`, async (t) => {
    const program = runProgram(
      t,
      [...ONE_OFF, '/bin/sh', '-c', 'trap "exit 9" TERM; echo "pid $$"; while :; do sleep 0.01; done'],
      env,
    );
    const [, pid] = await program.waitFor(/pid (\d+)/);
    assert.equal(readProcess(Number(pid))?.groupId, readProcess(program.pid)?.groupId);
    program.kill('SIGTERM');
    assert.equal(await program.exit, 9);
  });

  test(`SIGPIPE ends a program in a one-off command, as it should (${way})`, async (t) => {
    const program = runProgram(t, [...ONE_OFF, '/bin/sh', '-c', 'yes | head -n 1'], env);
    assert.equal(await program.exit, 0);
    assert.equal(program.output(), 'y\n');
  });
}

test('a one-off command that is not there is told', async () => {
  const options = {
    command: toCommand(['no-such-program']),
    config: { childEnvironment: { PATH: '/bin' }, workDirectory: '/' },
  };
  await assert.rejects(runOneOff(options), { code: 'COMMAND_NOT_FOUND' });
  await assert.rejects(runOneOff({ ...options, execve: undefined }), { code: 'COMMAND_NOT_FOUND' });
});

test('a process that is replaced becomes the command, words and environment unchanged', async () => {
  class Replaced extends Error {}
  const words = ['printf', '[%s]', 'a b', "it's", '$HOME', ''];
  let result = '';
  const execve = (file: string, args: readonly string[], environment: Readonly<Record<string, string>>) => {
    result = spawnSync(file, args.slice(1), { env: environment, argv0: args[0], encoding: 'utf8' }).stdout;
    throw new Replaced();
  };
  const config = { childEnvironment: { PATH: '/usr/bin:/bin', HOME: '/nowhere' }, workDirectory: process.cwd() };
  await assert.rejects(runOneOff({ command: toCommand(words), config, execve }), Replaced);
  assert.equal(result, "[a b][it's][$HOME][]");
});
