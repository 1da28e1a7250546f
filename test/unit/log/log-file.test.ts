import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LogFile } from '../../../src/log/log-file.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'uwsrp-log-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('lines are appended at once to what the file holds', (t) => {
  const path = join(folder(t), 'a.log');
  writeFileSync(path, 'old\n');
  const file = new LogFile(path);
  file.write('new\n');
  assert.equal(readFileSync(path, 'utf8'), 'old\nnew\n');
  file.write('é…\n');
  assert.equal(readFileSync(path, 'utf8'), 'old\nnew\né…\n');
});

test('a file in a folder that is not there cannot be opened', (t) => {
  assert.throws(() => new LogFile(join(folder(t), 'none/a.log')), { code: 'ENOENT' });
});

test('after the file was moved away, reopening starts a new one', (t) => {
  const path = join(folder(t), 'a.log');
  const file = new LogFile(path);
  file.write('one\n');
  renameSync(path, `${path}.1`);
  file.write('two\n');
  assert.equal(existsSync(path), false);
  file.reopen();
  file.write('three\n');
  assert.equal(readFileSync(`${path}.1`, 'utf8'), 'one\ntwo\n');
  assert.equal(readFileSync(path, 'utf8'), 'three\n');
});

test('when reopening fails the old file stays in use, and a later try works', (t) => {
  const parent = folder(t);
  const path = join(parent, 'a.log');
  const file = new LogFile(path);
  renameSync(parent, `${parent}-moved`);
  t.after(() => rmSync(`${parent}-moved`, { recursive: true, force: true }));
  assert.throws(() => file.reopen(), { code: 'ENOENT' });
  file.write('one\n');
  renameSync(`${parent}-moved`, parent);
  assert.equal(readFileSync(path, 'utf8'), 'one\n');
  file.reopen();
  file.write('two\n');
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
});

test('a line that cannot be written is dropped without an error', () => {
  assert.doesNotThrow(() => new LogFile('/dev/full').write('lost\n'));
});
