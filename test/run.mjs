// Compiles the tests and runs the named suites with node:test in one go, so that one summary closes the output.
// Usage: node test/run.mjs [unit|integration|image|image-cases|path/to/file.test.ts ...]   (default: unit integration)
// image-cases: the black-box cases of test/integration once more, against the image.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = (command, args) =>
  spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TESTCONTAINERS_RYUK_DISABLED: 'true' },
  }).status ?? 1;

const wanted = process.argv.slice(2);
if (wanted.length === 0) wanted.push('unit', 'integration');

rmSync(join(root, 'build'), { recursive: true, force: true });
const tsc = join(root, 'node_modules/.bin/tsc');
for (const project of ['tsconfig.json', 'test/tsconfig.json']) {
  const status = run(tsc, ['-p', project]);
  if (status !== 0) process.exit(status);
}

const files = wanted.flatMap((name) => {
  if (name === 'image-cases') return imageCases();
  if (name.endsWith('.test.ts')) return [join('build', name.replace(/\.ts$/, '.js'))];
  const folder = join('build/test', name);
  return readdirSync(join(root, folder), { recursive: true })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => join(folder, file))
    .sort();
});
for (const file of files) statSync(join(root, file));
if (files.length === 0) {
  console.error(`test/run.mjs: no test file in ${wanted.join(', ')}`);
  process.exit(1);
}

process.exit(
  run(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=2', '--test-timeout=300000', ...files]),
);

/** Writes a file beside each case file that sets the target first, since a run has one environment for all its files. */
function imageCases() {
  const folder = join('build/test/image-cases');
  mkdirSync(join(root, folder));
  const cases = readdirSync(join(root, 'build/test/integration'))
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => {
      const text = readFileSync(join(root, 'build/test/integration', file), 'utf8');
      // The image has no Python.
      return /helpers\/(uwsrp|proxied-app)\.js/.test(text) && !text.includes("'python3'");
    });
  return cases.sort().map((file) => {
    const path = join(folder, file);
    const text = `process.env.UWSRP_TEST_TARGET = 'image';\nawait import('../integration/${file}');\n`;
    writeFileSync(join(root, path), text);
    return path;
  });
}
