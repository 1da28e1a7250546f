import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ConfigError } from '../../../src/config/config-error.ts';
import { findPage, readErrorPages } from '../../../src/proxy/error-pages.ts';

function folderOf(t: TestContext, files: Readonly<Record<string, string | Buffer>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'error-pages-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

function problemsOf(folder: string): readonly string[] {
  try {
    readErrorPages(folder);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    for (const problem of error.problems) {
      assert.match(problem, /^UWSRP_ERROR_PAGES: "[^\n]+" [^\n]+ \(allowed: a folder of files named like 502\.html/);
    }
    return error.problems;
  }
  return assert.fail('nothing was refused');
}

test('pages are read as they are; files that begin with a dot do not count', (t) => {
  const folder = folderOf(t, {
    '404.html': '',
    '502.html': '\ufeffcafé\r\n\n',
    '5xx.json': '{"a": [1]}\n',
    '4xx.html': 'x'.repeat(256 * 1024),
    '.DS_Store': '\xff',
  });
  const pages = readErrorPages(folder);
  assert.deepEqual([...pages.keys()].sort(), ['404.html', '4xx.html', '502.html', '5xx.json']);
  assert.equal(pages.get('502.html')!.toString(), '\ufeffcafé\r\n\n');
  assert.equal(pages.get('404.html')!.length, 0);
});

test('no folder is no page', () => {
  assert.equal(readErrorPages(undefined).size, 0);
});

test('a page is found by its status, else by the class of it', () => {
  const pages = new Map([
    ['502.html', Buffer.from('exact')],
    ['5xx.html', Buffer.from('class')],
    ['404.json', Buffer.from('{}')],
  ]);
  assert.equal(findPage(pages, 502, 'html')?.toString(), 'exact');
  assert.equal(findPage(pages, 503, 'html')?.toString(), 'class');
  assert.equal(findPage(pages, 502, 'json'), undefined);
  assert.equal(findPage(pages, 404, 'json')?.toString(), '{}');
  assert.equal(findPage(pages, 404, 'html'), undefined);
});

for (const name of [
  '200.html',
  '600.html',
  '50x.html',
  '5XX.html',
  '502.htm',
  '502.HTML',
  '502.html~',
  '502',
  'README.md',
]) {
  test(`${name} is no page`, (t) => {
    const [problem, ...others] = problemsOf(folderOf(t, { '500.html': 'ok', [name]: 'x' }));
    assert.match(problem!, new RegExp(`"${name}" is no page`));
    assert.equal(others.length, 0);
  });
}

test('every problem is told at once', (t) => {
  const folder = folderOf(t, {
    '500.html': Buffer.from([0x61, 0xff]),
    '502.json': '{"a":',
    '503.html': 'x'.repeat(256 * 1024 + 1),
    'other.txt': '',
  });
  mkdirSync(join(folder, '504.html'));
  const problems = problemsOf(folder);
  assert.equal(problems.length, 5);
  assert.match(problems[0]!, /"500.html" is not UTF-8/);
  assert.match(problems[1]!, /"502.json" is not JSON/);
  assert.match(problems[2]!, /"503.html" has 262145 bytes .* at most 256kb each/);
  assert.match(problems[3]!, /"504.html" cannot be read: EISDIR/);
  assert.match(problems[4]!, /"other.txt" is no page/);
});

test('a folder without a page, or none at all, is a mistake', (t) => {
  assert.match(problemsOf(folderOf(t, { '.keep': '' }))[0]!, /holds no page/);
  const missing = problemsOf('/nowhere/pages');
  assert.match(missing[0]!, /"\/nowhere\/pages" cannot be read: ENOENT/);
});
