import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { type Supervised, supervise } from '../helpers/supervise.ts';
import { until } from '../helpers/until.ts';

async function startOnPort({ start }: Supervised): Promise<number> {
  const target = await start();
  assert.ok(target.kind === 'tcp');
  return target.port;
}

/** Signals that the Node fixture has seen so far. */
async function seen(port: number, name: 'SIGHUP' | 'SIGUSR2' | 'SIGTERM'): Promise<number> {
  return JSON.parse((await request(port)).text)[name];
}

test("the exit code is the command's own", async (t) => {
  const supervised = supervise(t, { command: ['node', 'listen.js'], env: { EXIT_CODE: '7' } });
  await supervised.start();
  supervised.supervisor.terminate();
  assert.deepEqual(await supervised.ended(), { exitCode: 7, description: 'exited with code 7' });
});

test('a command without a handler gives 143', async (t) => {
  const supervised = supervise(t, { command: ['python3', 'forks.py'] });
  await supervised.start();
  supervised.supervisor.terminate();
  assert.deepEqual(await supervised.ended(), { exitCode: 143, description: 'was ended by SIGTERM' });
  assert.deepEqual(supervised.processes(), []);
});

test('the command has ended when the last of its group has, and not when its shell has', async (t) => {
  const supervised = supervise(t, { command: ['/bin/sh', '-c', 'node listen.js & wait'] });
  const port = await startOnPort(supervised);
  const held = await connectRaw(port, t);
  held.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await held.readUntil('100 Continue\r\n\r\n');

  let hasEnded = false;
  void supervised.supervisor.ended.then(() => {
    hasEnded = true;
  });
  supervised.supervisor.terminate();
  assert.equal((await supervised.supervisor.leaderEnded).exitCode, 143);
  assert.ok(!supervised.supervisor.isRunning);
  assert.equal(supervised.processes().length, 1);
  assert.ok(!hasEnded);

  held.send('ok');
  const answer = await held.readResponse();
  assert.equal(JSON.parse(answer.body.toString()).SIGTERM, 1);
  held.destroy();
  assert.equal((await supervised.ended()).exitCode, 143);
});

test('a group that ignores SIGTERM is killed after the shutdown timeout', async (t) => {
  const supervised = supervise(t, {
    command: ['python3', 'forks.py', 'ignore-term'],
    env: { UWSRP_SHUTDOWN_TIMEOUT: '300ms' },
  });
  await supervised.start();
  assert.deepEqual(await supervised.supervisor.end(), { exitCode: 137, description: 'was ended by SIGKILL' });
  assert.deepEqual(supervised.processes(), []);
  assert.deepEqual(supervised.warnings(), [
    'the command did not end within 300ms of SIGTERM (UWSRP_SHUTDOWN_TIMEOUT): killing it',
  ]);
});

test('kill ends the whole group at once, whatever it ignores', async (t) => {
  const supervised = supervise(t, { command: ['python3', 'forks.py', 'ignore-term'] });
  await supervised.start();
  supervised.supervisor.terminate();
  supervised.supervisor.kill();
  assert.equal((await supervised.ended()).exitCode, 137);
  assert.deepEqual(supervised.processes(), []);
});

test('a leader that ends by itself takes the rest of its group with it, and its exit code counts', async (t) => {
  const supervised = supervise(t, { command: ['python3', 'forks.py'] });
  const port = await startOnPort(supervised);
  assert.equal((await request(port)).status, 200);
  supervised.supervisor.signal('SIGUSR1');
  assert.deepEqual(await supervised.supervisor.leaderEnded, { exitCode: 5, description: 'exited with code 5' });
  assert.equal((await supervised.ended()).exitCode, 5);
  assert.deepEqual(supervised.processes(), []);
});

test('what is left after the leader and ignores SIGTERM is killed', async (t) => {
  const supervised = supervise(t, {
    command: ['python3', 'forks.py', 'ignore-term'],
    env: { UWSRP_SHUTDOWN_TIMEOUT: '300ms' },
  });
  await supervised.start();
  supervised.supervisor.signal('SIGUSR1');
  assert.equal((await supervised.ended()).exitCode, 5);
  assert.deepEqual(supervised.processes(), []);
});

test('during a stop the rest of the group outlives its leader until it is told to end', async (t) => {
  const supervised = supervise(t, { command: ['/bin/sh', '-c', 'node listen.js & wait'] });
  const port = await startOnPort(supervised);
  supervised.stop.abort('SIGTERM');
  process.kill(supervised.leaderPid(), 'SIGTERM');
  await supervised.supervisor.leaderEnded;
  for (let requests = 0; requests < 20; requests += 1) assert.equal(await seen(port, 'SIGTERM'), 0);
  supervised.supervisor.terminate();
  assert.equal((await supervised.ended()).exitCode, 143);
});

test('a leader that SIGTERM ended waits with the news until the stop is known', async (t) => {
  const supervised = supervise(t, { command: ['/bin/sh', '-c', 'node listen.js & wait'] });
  const port = await startOnPort(supervised);
  let isStopKnown = false;
  const wasStopKnown = supervised.supervisor.leaderEnded.then(() => isStopKnown);
  process.kill(supervised.leaderPid(), 'SIGTERM');
  await until(() => !supervised.supervisor.isRunning, 'the leader to end');
  assert.equal(await seen(port, 'SIGTERM'), 0);
  isStopKnown = true;
  supervised.stop.abort('SIGTERM');
  assert.equal(await wasStopKnown, true);
  assert.equal(await seen(port, 'SIGTERM'), 0);
  supervised.supervisor.terminate();
  await supervised.ended();
});

test('SIGTERM reaches the group once, however often it is asked to end', async (t) => {
  const supervised = supervise(t, { command: ['node', 'listen.js'] });
  const port = await startOnPort(supervised);
  const held = await connectRaw(port, t);
  held.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n');
  await held.readUntil('100 Continue\r\n\r\n');
  for (let times = 0; times < 3; times += 1) supervised.supervisor.terminate();
  // The fixture stops listening when it has seen SIGTERM.
  await assert.rejects(async () => {
    for (;;) await request(port);
  });
  held.send('x');
  assert.equal(JSON.parse((await held.readResponse()).body.toString()).SIGTERM, 1);
  held.destroy();
  await supervised.ended();
});

test('signals are handed on to the command', async (t) => {
  const supervised = supervise(t, { command: ['node', 'listen.js'] });
  const port = await startOnPort(supervised);
  supervised.supervisor.signal('SIGHUP');
  supervised.supervisor.signal('SIGUSR2');
  await until(async () => (await seen(port, 'SIGUSR2')) === 1, 'SIGUSR2 to arrive');
  assert.equal(await seen(port, 'SIGHUP'), 1);
  supervised.supervisor.terminate();
  await supervised.ended();
});

test('a stop during the boot ends the command and gives its exit code', async (t) => {
  const supervised = supervise(t, { command: ['/bin/sh', '-c', 'sleep 1000 & wait'] });
  const starting = supervised.start();
  await until(() => supervised.supervisor.isRunning, 'the command to run');
  supervised.stop.abort('SIGTERM');
  await assert.rejects(starting, (reason) => reason === 'SIGTERM');
  assert.equal((await supervised.ended()).exitCode, 143);
  assert.deepEqual(supervised.processes(), []);
});

test('a stop during the boot of a stubborn command can be made a kill', async (t) => {
  const supervised = supervise(t, {
    command: ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 1000; done'],
  });
  const starting = supervised.start();
  await until(() => supervised.processes().length === 2, 'the shell and its sleep to run');
  supervised.stop.abort('SIGTERM');
  supervised.supervisor.kill();
  await assert.rejects(starting, (reason) => reason === 'SIGTERM');
  assert.equal((await supervised.ended()).exitCode, 137);
});

test('a stop before the boot starts nothing', async (t) => {
  const supervised = supervise(t, { command: ['node', 'listen.js'] });
  supervised.stop.abort('SIGTERM');
  await assert.rejects(supervised.start(), (reason) => reason === 'SIGTERM');
  assert.equal((await supervised.ended()).description, 'was not started');
});
