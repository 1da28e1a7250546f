import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArguments } from '../../../src/config/cli.ts';
import { exitCodeOf } from '../../../src/lib/errors.ts';

test('a command is run with its arguments as they are', () => {
  assert.deepEqual(parseArguments(['node', 'server.js', '--help']), {
    kind: 'run',
    args: ['node', 'server.js', '--help'],
  });
  assert.deepEqual(parseArguments(['node server.js']), { kind: 'run', args: ['node server.js'] });
  assert.deepEqual(parseArguments(['-x']), { kind: 'run', args: ['-x'] });
});

test('leading words uwsrp do not count, and nothing left means no command', () => {
  assert.deepEqual(parseArguments(['uwsrp']), { kind: 'run', args: [] });
  assert.deepEqual(parseArguments([]), { kind: 'run', args: [] });
  assert.deepEqual(parseArguments(['uwsrp', 'uwsrp', 'node']), { kind: 'run', args: ['node'] });
  assert.deepEqual(parseArguments(['uwsrp node server.js']), { kind: 'run', args: ['node server.js'] });
});

test('a first flag is ours', () => {
  assert.deepEqual(parseArguments(['--help']), { kind: 'help' });
  assert.deepEqual(parseArguments(['uwsrp', '--check']), { kind: 'check' });
  assert.deepEqual(parseArguments(['uwsrp --version']), { kind: 'version' });
  assert.deepEqual(parseArguments(['--check', 'node', 'server.js']), { kind: 'check' });
});

test('a double dash ends our flags', () => {
  assert.deepEqual(parseArguments(['--', '--help']), { kind: 'run', args: ['--help'] });
  assert.deepEqual(parseArguments(['--', 'uwsrp', 'node']), { kind: 'run', args: ['node'] });
  assert.deepEqual(parseArguments(['--']), { kind: 'run', args: [] });
});

test('an unknown first flag is a configuration error that names the known ones', () => {
  for (const flag of ['--port', '--Help', '--help=1', '---']) {
    assert.throws(
      () => parseArguments([flag, 'node']),
      (error: Error) => {
        assert.match(error.message, /is not a flag of uwsrp \(allowed: --help, --check, --version/);
        assert.ok(error.message.startsWith(JSON.stringify(flag)));
        return exitCodeOf(error) === 78;
      },
    );
  }
});
