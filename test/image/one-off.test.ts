import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { runImage } from '../helpers/image.ts';

/** The command's process id, its parent's, its group and the terminal's foreground group: fields 1, 4, 5 and 8. */
const WHO = 'set -- $(cat /proc/$$/stat); echo "$1 $4 $5 $8"';
const OFF = { UWSRP_MODE: 'off' };

test('a one-off command runs as it is: our process becomes it, and PORT is the platform’s', async (t) => {
  const run = await runImage(t, { env: { ...OFF, PORT: '1234' }, command: ['sh', '-c', `${WHO}; echo "port $PORT"`] });
  const [who, port] = run.stdout.trim().split('\n');
  strictEqual(port, 'port 1234');
  match(who!, /^\d+ 1 /, 'tini is its parent');
  strictEqual(run.stderr, '');
  strictEqual(run.exitCode, 0);
});

test('a dyno that is not web is a one-off, in one string as Heroku joins it', async (t) => {
  for (const DYNO of ['run.1234', 'release.1', 'worker.1', 'scheduler-7']) {
    const run = await runImage(t, { env: { DYNO, PORT: '1234' }, command: ['echo "$PORT of $DYNO" && exit 3'] });
    deepStrictEqual(run, { exitCode: 3, stdout: `1234 of ${DYNO}\n`, stderr: '' });
  }
});

test('a one-off gives its exit code, 127 when it is not found, 126 when it cannot be run', async (t) => {
  const exitOf = async (...command: string[]) => (await runImage(t, { env: OFF, command })).exitCode;
  strictEqual(await exitOf('sh', '-c', 'exit 42'), 42);
  strictEqual(await exitOf('sh', '-c', 'kill -TERM $$'), 143);
  strictEqual(await exitOf('no-such-program', 'with', 'words'), 127);
  strictEqual(await exitOf('/etc/passwd', 'with', 'words'), 126);
});

test('with a terminal a one-off is in the foreground, as docker run -it image bash wants it', async (t) => {
  const run = await runImage(t, { env: OFF, tty: true, command: ['bash', '-c', `${WHO}; tty`] });
  const [who, terminal] = run.stdout.trim().split(/\r?\n/);
  const [, , group, foreground] = who!.split(' ');
  strictEqual(group, foreground, run.stdout);
  match(terminal!, /^\/dev\//);
});

test('words of ours in front of a command are dropped, so that a shared Procfile line does not nest', async (t) => {
  const run = await runImage(t, { env: OFF, command: ['uwsrp', 'uwsrp', 'echo', 'once'] });
  deepStrictEqual(run, { exitCode: 0, stdout: 'once\n', stderr: '' });
});

test('says its version and its variables', async (t) => {
  const version = await runImage(t, { command: ['uwsrp', '--version'] });
  match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  const help = await runImage(t, { command: ['--help'] });
  match(help.stdout, /UWSRP_COMMAND/);
  strictEqual(help.exitCode, 0);
});
