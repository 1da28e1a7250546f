import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readVersion } from '../../../src/lib/version.ts';
import { inRepository } from '../../helpers/repository.ts';

test('the version is that of the package.json above the compiled code', () => {
  const { version } = JSON.parse(readFileSync(inRepository('package.json'), 'utf8'));
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.equal(readVersion(), version);
});

test('the version is found in the package.json beside dist, past a foreign one', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-version-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'dist/lib'), { recursive: true });
  cpSync(inRepository('build/src/lib/version.js'), join(folder, 'dist/lib/version.js'));
  writeFileSync(join(folder, 'package.json'), '{"name":"uwsrp","version":"9.8.7","type":"module"}');
  writeFileSync(join(folder, 'dist/package.json'), '{"type":"module"}');
  const script = "import('./dist/lib/version.js').then((module) => process.stdout.write(module.readVersion()))";
  assert.equal(execFileSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' }), '9.8.7');
});
