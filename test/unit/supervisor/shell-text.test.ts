import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { withExec } from '../../../src/supervisor/shell-text.ts';

test('one simple command replaces the shell', () => {
  const lines = [
    'node server.js',
    'python3 -m http.server $PORT',
    'gunicorn "app:create(1, 2)" --bind $HOST:8000',
    "ruby -e 'puts 1; puts 2 | cat'",
    '"./my server" --greeting a\\;b',
    '$JAVA_HOME/bin/java -jar app.jar',
    './run --a=b',
    "perl -e 'print `date`'",
    'node server.js # the app',
  ];
  for (const line of lines) assert.equal(withExec(line), `exec ${line}`);
});

test('a line with a shell operator stays as it is', () => {
  const lines = [
    'cd web && node .',
    'a; b',
    'a | b',
    'a &',
    'a > log',
    'a < in',
    '(a)',
    'a\nb',
    'a `b`',
    'a $(b)',
    'a "$(b)"',
    'a "`b`"',
  ];
  for (const line of lines) assert.equal(withExec(line), line);
});

test('an assignment, a builtin or a keyword as the first word stays as it is', () => {
  const lines = [
    'NODE_ENV=production node .',
    'exec node .',
    '. ./env',
    'echo hi',
    'if true',
    '"cd" web',
    '\\cd x',
    '! a',
  ];
  for (const line of lines) assert.equal(withExec(line), line);
});

test('a line that no shell would take stays as it is, and blanks around it go', () => {
  for (const line of ['node "a', "node 'a", '', '""', '-c x']) assert.equal(withExec(line), line);
  assert.equal(withExec('  node a.js \n'), 'exec node a.js');
});

test('with exec the program has the process id of the shell, and words reach it unchanged', () => {
  const line = `${process.execPath} -e "console.log(process.pid, process.argv[1])" 'a;  b'`;
  const shell = spawnSync('/bin/sh', ['-c', withExec(line)], { encoding: 'utf8' });
  assert.equal(shell.stdout, `${shell.pid} a;  b\n`);
});
