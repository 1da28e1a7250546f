import { deepStrictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

/** The buildpack's steps from the bytecode on, in a tree that is complete but for it. */
const STEPS = `
  set -euo pipefail
  BUILDPACK=$1 WORK=$2 TREE=$2/tree CACHE_DIR=$2/cache LOG=$2/log ARCHITECTURE=x64
  for step in output network cache install; do source "$BUILDPACK/bin/steps/$step.sh"; done
  version() { echo 1.2.3; }
  make_bytecode
  save_to_cache
  echo "end of the build"`;

/** Stands in for `timeout`, which is here asked to wait half a second only. */
const IMPATIENT = 'option=$1; shift 2; exec /usr/bin/timeout "$option" 0.5 "$@"';

/** Runs the steps with shell text in the place of our Node, and tells what is there afterwards. */
function build(t: TestContext, node: string) {
  const here = mkdtempSync(join(tmpdir(), 'uwsrp-bytecode-'));
  t.after(() => rmSync(here, { recursive: true }));
  for (const folder of ['bin', 'lib']) mkdirSync(join(here, 'tree', folder), { recursive: true });
  for (const [name, text] of Object.entries({ node, timeout: IMPATIENT })) {
    writeFileSync(join(here, 'tree', 'bin', name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(here, 'tree', 'bin', name), 0o755);
  }
  const { stdout, stderr } = spawnSync('bash', ['-c', STEPS, 'bash', inRepository(), here], { encoding: 'utf8' });
  const isKept = readdirSync(here).includes('cache');
  return { output: stdout + stderr, lib: readdirSync(join(here, 'tree', 'lib')), isKept };
}

const DONE = 'end of the build\n';
const WITHOUT = '       No bytecode could be made of it: it works as ever, and dynos start a little slower\n';

test('the bytecode is made in the folder of the code, by the file that makes that of the image', (t) => {
  const node = `echo noise; [ "$1" = "${inRepository('docker', 'boot', 'warm.cjs')}" ] && touch uwsrp.cache`;
  deepStrictEqual(build(t, node), { output: DONE, lib: ['uwsrp.cache'], isKept: true });
});

test('a first boot that fails is said, and costs a build its bytecode alone', (t) => {
  const node = 'touch uwsrp.cache; echo noise >&2; exit 70';
  deepStrictEqual(build(t, node), { output: WITHOUT + DONE, lib: [], isKept: false });
});

test('a first boot that does not end is ended', (t) => {
  const node = 'trap "touch uwsrp.cache; exit 0" TERM; while :; do sleep 0.1; done';
  deepStrictEqual(build(t, node), { output: WITHOUT + DONE, lib: [], isKept: false });
});
