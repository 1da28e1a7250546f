import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { snippetsIn } from '../helpers/docs.ts';
import { inRepository, repositoryRoot } from '../helpers/repository.ts';

/** A project that has uwsrp installed, and this file as its source; gives what the compiler says. */
function compile(t: TestContext, put: (path: string) => void): { status: number | null; stdout: string } {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-types-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(repositoryRoot, join(folder, 'node_modules', 'uwsrp'));
  const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, types: [], outDir: 'out' };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['chat.ts'] }));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  put(join(folder, 'chat.ts'));
  return spawnSync(inRepository('node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8' });
}

test("a user's module compiles against the types of the package", (t) => {
  const { status, stdout } = compile(t, (path) => copyFileSync(inRepository('test/fixtures/native/chat.ts'), path));
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test("the README's module in TypeScript compiles, and so does its other one with its user data named", (t) => {
  const [inTypeScript] = snippetsIn('../README.md', 'ts');
  const [inJavaScript] = snippetsIn('../README.md', 'js');
  const named = inJavaScript!
    .replace('(app, context)', "(app: import('uwsrp').NativeApp, context: import('uwsrp').NativeContext)")
    .replace('app.ws(', 'app.ws<{ topic: string }>(')
    .replace('(name)', '(name: string)')
    .replace('(part)', '(part: string)');
  for (const source of [inTypeScript!, named]) {
    const { status, stdout } = compile(t, (path) => writeFileSync(path, source));
    assert.equal(stdout, '');
    assert.equal(status, 0);
  }
});

test('a module that uses what there is not does not compile', (t) => {
  const source = `
    import type { NativeModule } from 'uwsrp';
    const module: NativeModule = (app, { nonsense }) => { app.listen(1, () => {}); };
    export default module;`;
  const { status, stdout } = compile(t, (path) => writeFileSync(path, source));
  assert.notEqual(status, 0);
  assert.match(stdout, /'nonsense' does not exist/);
  assert.match(stdout, /'listen' does not exist/);
});
