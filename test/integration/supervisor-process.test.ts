import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readProcess } from '../../src/supervisor/process-table.ts';
import { type Program, runProgram } from '../helpers/program.ts';
import { inRepository } from '../helpers/repository.ts';
import { until } from '../helpers/until.ts';

const SUPERVISOR = [process.execPath, inRepository('build', 'test', 'helpers', 'supervisor-main.js')];

/** Runs the supervisor with its command on a terminal, and waits until the command is ready. */
async function startOnTerminal(t: TestContext, command: string[], wrap = (words: string[]) => words) {
  const words = wrap([...SUPERVISOR, ...command]);
  const program = runProgram(t, ['python3', 'on_terminal.py', ...words], { UWSRP_SHUTDOWN_TIMEOUT: '2s' });
  const [, pid] = await program.waitFor(/ready (\d+)/);
  return { program, commandPid: Number(pid) };
}

function supervisorOf(commandPid: number): number {
  return readProcess(commandPid)!.parentPid;
}

async function assertEnds(program: Program, code: number): Promise<void> {
  assert.equal(await program.exit, code, program.output());
  assert.deepEqual(program.processes(), []);
}

test('on a terminal the command stays in the foreground and reads what is typed', async (t) => {
  const { program, commandPid } = await startOnTerminal(t, ['python3', 'terminal.py']);
  assert.equal(readProcess(commandPid)?.groupId, readProcess(supervisorOf(commandPid))?.groupId);
  await program.waitFor(/number\?/);
  program.write('7\n');
  await assertEnds(program, 7);
});

test('Ctrl-C reaches the command and stops it', async (t) => {
  const { program } = await startOnTerminal(t, ['python3', 'terminal.py']);
  await program.waitFor(/number\?/);
  program.write('\x03');
  await assertEnds(program, 130);
});

test('a stop ends all of the command, and nobody else in the group', async (t) => {
  const shell = (words: string[]) => [
    '/bin/sh',
    '-c',
    'sleep 1000 & "$@"; code=$?; kill $! && echo the neighbour lived; exit $code',
    'sh',
    ...words,
  ];
  const { program, commandPid } = await startOnTerminal(t, ['/bin/sh', '-c', 'node listen.js & wait'], shell);
  process.kill(supervisorOf(commandPid), 'SIGTERM');
  await program.waitFor(/the neighbour lived/);
  await assertEnds(program, 143);
});

test('a leader that ends by itself takes its children with it, in the shared group too', async (t) => {
  const { program, commandPid } = await startOnTerminal(t, ['python3', 'forks.py']);
  process.kill(commandPid, 'SIGUSR1');
  await assertEnds(program, 5);
});

test('without a terminal the command leads a group of its own, and gets the signals that are meant for it', async (t) => {
  const program = runProgram(t, [...SUPERVISOR, 'python3', 'forks.py']);
  const [, pid] = await program.waitFor(/ready (\d+)/);
  assert.equal(readProcess(Number(pid))?.groupId, Number(pid));
  program.kill('SIGUSR1');
  await assertEnds(program, 5);
  // What Node does with SIGUSR1 when nobody listens to it.
  assert.doesNotMatch(program.output(), /Debugger/);
});

test('SIGHUP is for the logs and for the command', async (t) => {
  const program = runProgram(t, [...SUPERVISOR, 'python3', 'forks.py']);
  await program.waitFor(/ready/);
  program.kill('SIGHUP');
  await program.waitFor(/hangup/);
  await assertEnds(program, 129);
});

test('a crash of uwsrp leaves nothing of the command behind', async (t) => {
  const program = runProgram(t, [...SUPERVISOR, 'python3', 'forks.py', 'ignore-term'], { CRASH: '1' });
  await program.waitFor(/Error: crashed/);
  assert.equal(await program.exit, 1);
  await until(() => program.processes().length === 0, 'the command to be gone');
});
