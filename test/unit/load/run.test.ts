import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

const SAY = 'printf "%s\\n" "$(basename "$0")" "$@"; exit 99';
/** What the script uses of a system, and no k6 or docker. */
const TOOLS = ['bash', 'basename', 'dirname', 'paste', 'sed', 'timeout', 'sh', 'env'];

/** Runs `npm run load` with the given programs alone, each a shell text. */
function load(t: TestContext, words: readonly string[], programs: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-load-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const tool of TOOLS) {
    symlinkSync(spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim(), join(folder, tool));
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const { status, stdout, stderr } = spawnSync(inRepository('test', 'load', 'run'), words, {
    env: { PATH: folder, BASE_URL: 'http://app.example' },
    encoding: 'utf8',
  });
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
}

test('runs the k6 on PATH with the scenario and further options, smoke when none is named', (t) => {
  const programs = { k6: SAY, docker: 'exit 1' };
  deepStrictEqual(load(t, ['load', '--quiet'], programs).lines, ['k6', 'run', '--quiet', 'load.ts']);
  const { status, lines } = load(t, [], programs);
  deepStrictEqual([status, lines], [99, ['k6', 'run', 'smoke.ts']]);
});

test('without it runs the image, which it pulls when it is not there, and hands all settings on', (t) => {
  for (const docker of [
    `if [ "$1" = image ]; then exit 0; fi; ${SAY}`,
    `if [ "$1" = image ]; then exit 1; fi; if [ "$1" = pull ]; then exit 0; fi; ${SAY}`,
  ]) {
    const { status, lines } = load(t, ['sse'], { docker });
    strictEqual(status, 99);
    deepStrictEqual(lines.slice(-3), ['grafana/k6', 'run', '/load/sse.ts']);
    const settings = lines.filter((_, at) => lines[at - 1] === '--env');
    for (const name of ['BASE_URL', 'VUS', 'DURATION', 'PATHS', 'WS_PATH', 'SSE_HOLD'])
      strictEqual(settings.includes(name), true, name);
  }
});

test('where neither can be had it says so and what to do', (t) => {
  const offline = load(t, ['smoke'], { docker: 'echo "Error: no such host" >&2; exit 1' });
  strictEqual(offline.status, 69);
  match(
    offline.stderr,
    /none on PATH, and the image grafana\/k6 cannot be pulled \(Error: no such host\)\n.*install it/,
  );
  const bare = load(t, ['smoke'], {});
  strictEqual(bare.status, 69);
  match(bare.stderr, /none on PATH, and no docker to run the image/);
});

test('an unknown scenario is named with those that there are', (t) => {
  const { status, stderr } = load(t, ['storm'], { k6: SAY });
  strictEqual(status, 64);
  strictEqual(stderr, "load: there is no scenario 'storm'; there are: load smoke soak spike sse websocket\n");
});

test('docs/load.md has a row for each scenario and each setting, with its default', () => {
  const page = readFileSync(inRepository('docs', 'load.md'), 'utf8');
  const settings = readFileSync(inRepository('test', 'load', 'lib', 'settings.ts'), 'utf8');
  const rows = new Map(
    [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name, next]) => [name!, next!.trim()]),
  );
  const scenarios = readdirSync(inRepository('test', 'load')).filter((name) => name.endsWith('.ts'));
  for (const name of scenarios) strictEqual(rows.has(name.replace('.ts', '')), true, name);
  for (const [, name, text, number] of settings.matchAll(/__ENV\.(\w+)(?: \|\| '(.+?)'|, (\d+))?/g)) {
    strictEqual(rows.has(name!), true, name);
    const fallback = text ?? number;
    if (fallback !== undefined) strictEqual(rows.get(name!), fallback, name);
  }
});
