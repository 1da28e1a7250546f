import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { locateExecutable } from '../../../src/supervisor/locate-executable.ts';

/** A work folder with a `bin` folder in it, and files with their modes. */
function folderWith(t: TestContext, files: Record<string, { text: string; mode: number }>): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'bin'));
  for (const [name, { text, mode }] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  }
  return folder;
}

const SCRIPT = { text: '#!/bin/sh\n', mode: 0o755 };

test('a bare name is looked up in PATH, one with a slash from the work folder', (t) => {
  const folder = folderWith(t, { run: SCRIPT, 'bin/run': SCRIPT });
  assert.equal(locateExecutable('run', { PATH: `/nowhere:${folder}/bin` }, folder), join(folder, 'bin/run'));
  assert.equal(locateExecutable('run', { PATH: 'bin' }, folder), join(folder, 'bin/run'));
  assert.equal(locateExecutable('./run', { PATH: '' }, folder), join(folder, 'run'));
  assert.equal(locateExecutable(join(folder, 'run'), {}, '/'), join(folder, 'run'));
});

test('what cannot be run is passed over as long as PATH has another', (t) => {
  const folder = folderWith(t, { run: { text: '', mode: 0o644 }, 'bin/run': SCRIPT });
  assert.equal(locateExecutable('run', { PATH: `${folder}:${folder}/bin` }, '/'), join(folder, 'bin/run'));
});

test('a name that is nowhere is not found', (t) => {
  const folder = folderWith(t, {});
  assert.throws(() => locateExecutable('nosuch', { PATH: '/a:/b' }, folder), {
    code: 'COMMAND_NOT_FOUND',
    message:
      'the command was not found: there is no nosuch in PATH (/a:/b): check the name, install it in the image, or give its full path',
  });
  assert.throws(() => locateExecutable('./nosuch', { PATH: '/bin' }, folder), {
    code: 'COMMAND_NOT_FOUND',
    message: `the command was not found: there is no file ${folder}/nosuch: check the path (relative ones start from ${folder})`,
  });
});

test('a directory, a file without permission and a missing interpreter are told apart', (t) => {
  const folder = folderWith(t, {
    'server.js': { text: '', mode: 0o644 },
    alien: { text: '#!/no/such/ruby -w\n', mode: 0o755 },
    windows: { text: '#!/bin/sh\r\necho\r\n', mode: 0o755 },
  });
  const locate = (name: string) => () => locateExecutable(name, {}, folder);
  assert.throws(locate('./bin'), { code: 'COMMAND_NOT_EXECUTABLE', message: /bin is a directory: name a file in it/ });
  assert.throws(locate('./server.js'), {
    code: 'COMMAND_NOT_EXECUTABLE',
    message: /server\.js is not executable: run chmod \+x on it, or name its interpreter/,
  });
  assert.throws(locate('./alien'), {
    code: 'COMMAND_NOT_EXECUTABLE',
    message: /asks for the interpreter \/no\/such\/ruby, which is not there/,
  });
  assert.throws(locate('./windows'), { message: /has Windows line ends.*asks for "\/bin\/sh\\r"/ });
});
