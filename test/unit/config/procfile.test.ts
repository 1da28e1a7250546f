import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../../src/config/config-error.ts';
import { parseProcfile } from '../../../src/config/procfile.ts';

function problemsOf(text: string): readonly string[] {
  try {
    parseProcfile(text);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return assert.fail('nothing was refused');
}

test('a Procfile is split at the first colon, past comments, blank lines and CRLF', () => {
  const text =
    '\uFEFF# processes\r\n\r\nweb: node server.js --url http://x:1\r\n  worker-2:bin/work "a: b"\n\nweb_x:\tsleep 1  \n';
  assert.deepEqual(
    [...parseProcfile(text)],
    [
      ['web', 'node server.js --url http://x:1'],
      ['worker-2', 'bin/work "a: b"'],
      ['web_x', 'sleep 1'],
    ],
  );
  assert.deepEqual([...parseProcfile('')], []);
});

test('leading words uwsrp are dropped from commands', () => {
  assert.deepEqual(
    [...parseProcfile('web: uwsrp node server.js\nbare: uwsrp')],
    [
      ['web', 'node server.js'],
      ['bare', ''],
    ],
  );
});

test('wrong lines are refused by number, all at once', () => {
  const problems = problemsOf('web: a\njust words\nworker:\nbad name: x\nweb: b\n: x\nweb : c');
  assert.deepEqual(
    problems.map((problem) => problem.split(':', 1)[0]),
    ['Procfile line 2', 'Procfile line 3', 'Procfile line 4', 'Procfile line 5', 'Procfile line 6', 'Procfile line 7'],
  );
  assert.match(problems[0]!, /"just words" is not a process \(allowed: name: command\)/);
  assert.match(problems[1]!, /"worker" has no command/);
  assert.match(problems[3]!, /"web" stands on line 1 already/);
});
