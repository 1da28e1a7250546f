import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

/**
 * Runs the step with a machine of the test's making: no real engine is asked, started or installed. `$here` is an empty
 * folder; the stand-in for an engine answers when `$here/up` is there, which the stand-in for dockerd makes.
 */
function ensureEngine(t: TestContext, machine: string, env: Record<string, string> = {}) {
  const here = mkdtempSync(join(tmpdir(), 'uwsrp-engine-'));
  t.after(() => rmSync(here, { recursive: true }));
  writeFileSync(join(here, 'dockerd'), '#!/bin/sh\necho "dockerd ran" && touch "$here/up" && exec sleep 0.1\n');
  chmodSync(join(here, 'dockerd'), 0o755);
  const script = `
    set -euo pipefail
    cd "${inRepository()}"
    STATE=$here/state
    for step in common engine; do source "docker/steps/$step.sh"; done
    ENGINE_LOG=$here/log ENGINE_PID_FILE=$here/pid ENGINE_WAIT_SECONDS=5
    has() { case " $programs " in *" $1 "*) ;; *) return 1 ;; esac; }
    id() { case $1 in -u) echo "$uid" ;; *) echo somebody ;; esac; }
    uname() { echo Linux; }
    is_debian_like() { [ "$system" = debian ]; }
    apt-cache() { return 1; }
    systemctl() { return 1; }
    engine_answers() { [ -e "$here/up" ]; }
    engine_error() { echo "$error"; }
    engine_name() { echo "\${DOCKER_HOST:-unix:///var/run/docker.sock}"; }
    install_packages() { echo "installed $*"; programs="$programs docker dockerd"; }
    programs='docker dockerd' uid=0 system=debian error='Cannot connect to the Docker daemon.'
    ${machine}
    ensure_engine`;
  const path = `${here}:${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    env: { HOME: '/root', here, ...env, PATH: path },
    encoding: 'utf8',
    timeout: 20_000,
  });
  const file = (name: string) => (existsSync(join(here, name)) ? readFileSync(join(here, name), 'utf8') : undefined);
  return { status, stdout, stderr, log: file('log'), pidFile: file('pid') };
}

test('an engine that answers is left alone, without a word', (t) => {
  const { status, stdout, stderr, log } = ensureEngine(t, 'touch "$here/up"');
  deepStrictEqual([status, stdout, stderr, log], [0, '', '', undefined]);
});

test('starts dockerd where there is one and nobody else answers', (t) => {
  const { status, stderr, log } = ensureEngine(t, '');
  strictEqual(status, 0, stderr);
  match(stderr, /starting the Docker engine/);
  match(log!, /dockerd ran/);
});

test('removes the pid file of an engine that was killed', (t) => {
  // 4194305 is above the highest process id that Linux can give.
  const { status, pidFile, log } = ensureEngine(t, 'echo 4194305 >"$here/pid"');
  strictEqual(status, 0);
  strictEqual(pidFile, undefined);
  match(log!, /dockerd ran/);
});

test('leaves a pid file whose process lives, and says so', (t) => {
  const { status, stderr, pidFile, log } = ensureEngine(t, 'echo $$ >"$here/pid"; ENGINE_WAIT_SECONDS=0');
  strictEqual(status, 1);
  match(stderr, /names a live process: \d+ \(bash\)/);
  ok(pidFile);
  strictEqual(log, undefined);
});

test('waits for an engine that is starting', (t) => {
  const { status, stderr, log } = ensureEngine(t, 'echo $$ >"$here/pid"; (sleep 1; touch "$here/up") & ');
  strictEqual(status, 0);
  match(stderr, /waiting for the Docker engine/);
  strictEqual(log, undefined);
});

test('starts none where the user chose one, and names that', (t) => {
  const { status, stderr, log } = ensureEngine(t, 'ENGINE_WAIT_SECONDS=0', { DOCKER_HOST: 'tcp://127.0.0.1:1' });
  strictEqual(status, 1);
  match(stderr, /tcp:\/\/127\.0\.0\.1:1 does not answer/);
  strictEqual(log, undefined);
});

test('installs Docker as root on Debian and Ubuntu, then starts it', (t) => {
  const { status, stdout, log } = ensureEngine(t, "programs=''");
  strictEqual(status, 0);
  strictEqual(stdout, 'installed docker.io\n');
  match(log!, /dockerd ran/);
});

test('elsewhere, or not as root, says what to install', (t) => {
  for (const machine of ["programs=''; uid=1000", "programs=''; system=other"]) {
    const { status, stdout, stderr } = ensureEngine(t, machine);
    strictEqual(status, 1);
    match(stderr, /Docker is not installed/);
    match(stderr, /apt-get install docker\.io.*docs\.docker\.com/);
    strictEqual(stdout, '');
  }
});

test('tells a user who may not use the engine how to get the right', (t) => {
  const { status, stderr } = ensureEngine(t, "uid=1000; error='permission denied while trying to connect'");
  strictEqual(status, 1);
  match(stderr, /usermod -aG docker/);
});

test('gives up at once when dockerd ends, with the end of its log', (t) => {
  const machine = `printf '#!/bin/sh\\necho "no space left" && exit 1\\n' >"$here/dockerd"; ENGINE_WAIT_SECONDS=3600`;
  const { status, stderr } = ensureEngine(t, machine);
  strictEqual(status, 1);
  match(stderr, /no space left/);
  match(stderr, /was started but does not answer/);
});
