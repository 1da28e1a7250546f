import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDotenvFile } from '../../../src/config/dotenv-file.ts';

function failing(code: string) {
  return (): string => {
    throw Object.assign(new Error(`${code}: no`), { code });
  };
}

function files(contents: Record<string, string>) {
  return (path: string): string => contents[path] ?? failing('ENOENT')();
}

test('.env in the work folder is read when it is there', () => {
  const read = files({ '/app/.env': '\uFEFFA=1\nexport B="x y"\n# no\nC=a#b\r\nD=\n' });
  assert.deepEqual(readDotenvFile(undefined, '/app', read), {
    path: '/app/.env',
    values: { A: '1', B: 'x y', C: 'a', D: '' },
  });
  assert.deepEqual(readDotenvFile(undefined, '/srv', read), { path: undefined, values: {} });
});

test('another file is read by its absolute or relative path', () => {
  const read = files({ '/app/prod.env': 'A=1', '/etc/x.env': 'A=2' });
  assert.deepEqual(readDotenvFile('prod.env', '/app', read).values, { A: '1' });
  assert.deepEqual(readDotenvFile('/etc/x.env', '/app', read), { path: '/etc/x.env', values: { A: '2' } });
});

test('off reads nothing', () => {
  const read = files({ '/app/.env': 'A=1', '/app/off': 'A=2' });
  assert.deepEqual(readDotenvFile('off', '/app', read), { path: undefined, values: {} });
  assert.deepEqual(readDotenvFile('OFF', '/app', read), { path: undefined, values: {} });
});

test('a file that is there and cannot be read is a problem', () => {
  const { path, problem } = readDotenvFile(undefined, '/app', failing('EACCES'));
  assert.equal(path, undefined);
  assert.match(problem!, /^UWSRP_DOTENV: "\/app\/\.env" cannot be read: EACCES \(allowed: .*, or off\)$/);
});

test('a file that was named and is not there is a problem', () => {
  assert.match(readDotenvFile('prod.env', '/app', failing('ENOENT')).problem!, /"\/app\/prod\.env".*does not exist/);
  assert.match(readDotenvFile('prod', '/app', failing('EISDIR')).problem!, /EISDIR/);
});

test('a folder called .env, as Python makes them, is no file', () => {
  assert.deepEqual(readDotenvFile(undefined, '/app', failing('EISDIR')), { path: undefined, values: {} });
});
