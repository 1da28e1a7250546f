import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

/** Stands in for our Node: prints its arguments and the variables in question, one a line. */
const NODE = `#!/bin/sh
printf '%s\\n' "$@"
env | grep -E '^(NODE_OPTIONS|UWSRP_APP_NODE_OPTIONS|HOME|NODE_ENV)=' | sort
exit 7
`;

function installed(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'uwsrp launcher-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'bin'));
  copyFileSync(inRepository('docker', 'launcher'), join(root, 'bin', 'uwsrp'));
  writeFileSync(join(root, 'bin', 'node'), NODE);
  for (const name of ['uwsrp', 'node']) chmodSync(join(root, 'bin', name), 0o755);
  return root;
}

function launch(program: string, args: string[], env: Record<string, string>) {
  const { status, stdout } = spawnSync(program, args, { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

test('runs start.cjs with the Node beside it, arguments untouched, and gives its exit code', (t) => {
  const root = installed(t);
  const { status, lines } = launch(join(root, 'bin', 'uwsrp'), ['node', 'a b', '', '$PORT'], { HOME: '/root' });
  strictEqual(status, 7);
  deepStrictEqual(lines, [join(root, 'lib', 'start.cjs'), 'node', 'a b', '', '$PORT', 'HOME=/root']);
});

test('finds its folder through a link', (t) => {
  const root = installed(t);
  const link = join(root, 'uwsrp');
  symlinkSync(join('bin', 'uwsrp'), link);
  deepStrictEqual(launch(link, [], { HOME: '/root' }).lines, [join(root, 'lib', 'start.cjs'), 'HOME=/root']);
});

test('puts NODE_OPTIONS aside for the app, also an empty one, and leaves other variables', (t) => {
  const program = join(installed(t), 'bin', 'uwsrp');
  const environmentAfter = (env: Record<string, string>) => launch(program, [], env).lines.slice(1);
  deepStrictEqual(environmentAfter({ HOME: '/root', NODE_OPTIONS: '--max-old-space-size=64 --require "/a b"' }), [
    'HOME=/root',
    'UWSRP_APP_NODE_OPTIONS=--max-old-space-size=64 --require "/a b"',
  ]);
  deepStrictEqual(environmentAfter({ HOME: '/root', NODE_OPTIONS: '' }), ['HOME=/root', 'UWSRP_APP_NODE_OPTIONS=']);
  deepStrictEqual(environmentAfter({ HOME: '/root', NODE_ENV: 'production' }), ['HOME=/root', 'NODE_ENV=production']);
});

test('gives a user without a home of its own one that can be written', (t) => {
  const program = join(installed(t), 'bin', 'uwsrp');
  for (const env of [{}, { HOME: '' }, { HOME: '/' }] as Record<string, string>[]) {
    deepStrictEqual(launch(program, [], env).lines.slice(1), ['HOME=/tmp']);
  }
});
