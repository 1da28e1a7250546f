import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../../src/supervisor/command.ts';
import { findCommand } from '../../../src/supervisor/find-command.ts';

interface Given {
  args?: string[];
  command?: string;
  process?: string;
  /** Files of the work folder. */
  files?: Record<string, string>;
}

function find({ args = [], command, process = 'web', files = {} }: Given): Command {
  const textOf = (path: string) => (path.startsWith('/app/') ? files[path.slice(5)] : undefined);
  return findCommand({
    args,
    config: { command, process, workDirectory: '/app' },
    readFile: textOf,
    fileExists: (path) => textOf(path) !== undefined,
  });
}

const FILES = { Procfile: 'web: python3 web.py\n', 'package.json': '{"scripts":{"start":"node server.js"}}' };

test('arguments win over UWSRP_COMMAND, that over the Procfile, that over npm start', () => {
  assert.equal(find({ args: ['node', 'a.js'], command: 'node b.js', files: FILES }).source, 'arguments');
  assert.equal(find({ command: 'node b.js', files: FILES }).source, 'UWSRP_COMMAND');
  assert.equal(find({ files: FILES }).source, 'Procfile (web)');
  assert.equal(find({ files: { 'package.json': FILES['package.json'] } }).source, 'package.json');
});

test('several arguments are run as they are, without a shell', () => {
  assert.deepEqual(find({ args: ['node', 'my server.js', '--name', "it's $HOME"] }), {
    file: 'node',
    args: ['my server.js', '--name', "it's $HOME"],
    display: "node 'my server.js' --name 'it'\\''s $HOME'",
    source: 'arguments',
  });
});

test('one argument is the name of a file if there is one, and shell text otherwise', () => {
  const file = find({ args: ['start server.sh'], files: { 'start server.sh': '' } });
  assert.deepEqual([file.file, file.args], ['/app/start server.sh', []]);
  const text = find({ args: ['haproxy -f x.cfg'] });
  assert.deepEqual([text.file, text.args], ['/bin/sh', ['-c', 'exec haproxy -f x.cfg']]);
  assert.equal(text.display, 'haproxy -f x.cfg');
});

test('UWSRP_COMMAND is read like one argument', () => {
  assert.equal(find({ command: './run', files: { run: '' } }).file, '/app/run');
  assert.deepEqual(find({ command: 'cd web && node .' }).args, ['-c', 'cd web && node .']);
});

test('a Procfile line is shell text, also where it names a file', () => {
  assert.deepEqual(find({ files: { Procfile: 'web: ./run --port $PORT', './run --port $PORT': '' } }).args, [
    '-c',
    'exec ./run --port $PORT',
  ]);
});

test('UWSRP_PROCESS names another process of the Procfile', () => {
  const command = find({ process: 'api', files: { Procfile: 'web: a\napi: b' } });
  assert.deepEqual([command.display, command.source], ['b', 'Procfile (api)']);
});

test('leading words uwsrp are dropped wherever a command may stand', () => {
  const expected = ['-c', 'exec node a.js'];
  assert.deepEqual(find({ args: ['uwsrp', 'uwsrp', 'node', 'a.js'] }).args, ['a.js']);
  assert.deepEqual(find({ args: ['uwsrp node a.js'] }).args, expected);
  assert.deepEqual(find({ command: 'uwsrp node a.js' }).args, expected);
  assert.deepEqual(find({ files: { Procfile: 'web: uwsrp node a.js' } }).args, expected);
});

test('a command that is nothing but uwsrp is none, and the next place is looked at', () => {
  assert.equal(find({ args: ['uwsrp'], command: 'uwsrp', files: FILES }).source, 'Procfile (web)');
  const files = { ...FILES, Procfile: 'web: uwsrp' };
  assert.equal(find({ files }).source, 'package.json');
});

test('a start script that starts with uwsrp does not put one proxy behind another', () => {
  const files = { 'package.json': '{"scripts":{"start":"uwsrp next start"}}' };
  assert.deepEqual(find({ files }), {
    file: 'npm',
    args: ['exec', '-c', 'next start'],
    display: 'next start',
    source: 'package.json',
  });
  assert.throws(() => find({ files: { 'package.json': '{"scripts":{"start":"uwsrp"}}' } }), {
    code: 'COMMAND_MISSING',
    message: /the start script of package\.json says nothing but uwsrp/,
  });
});

test('a Procfile without a web process leaves room for npm start, as with the Heroku buildpack', () => {
  assert.equal(find({ files: { ...FILES, Procfile: 'release: ./migrate' } }).source, 'package.json');
});

test('without a command the error names all the ways to give one', () => {
  assert.throws(() => find({}), {
    code: 'COMMAND_MISSING',
    message:
      'there is no command to run: give one as arguments (uwsrp node server.js, or CMD ["node", "server.js"] in the ' +
      'Dockerfile), in UWSRP_COMMAND, as the web process of a Procfile, or as the start script of package.json',
  });
});

test('a missing process is told with the names that there are, and npm start does not stand in for it', () => {
  const given = { process: 'api', files: { ...FILES, Procfile: 'web: a\nworker: b' } };
  assert.throws(() => find(given), {
    code: 'COMMAND_MISSING',
    message: /the Procfile has no process api \(it has web, worker\)/,
  });
  assert.throws(() => find({ process: 'api' }), { message: /UWSRP_PROCESS is api, but there is no Procfile/ });
});

test('a package.json without a usable start script is told', () => {
  for (const text of ['{}', '{"scripts":{"start":" "}}', 'null', 'not JSON']) {
    assert.throws(() => find({ files: { 'package.json': text } }), {
      code: 'COMMAND_MISSING',
      message: /package\.json has no start script/,
    });
  }
});
