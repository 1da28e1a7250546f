import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../helpers/repository.ts';

const source = join(repositoryRoot, 'src');

/** A folder (or root file) of src/ may import itself and what stands here, and nothing else. */
const ALLOWED: Record<string, readonly string[]> = {
  'main.ts': [
    'service.ts',
    'workers',
    'supervisor',
    'edge',
    'admin',
    'native',
    'proxy',
    'upstream',
    'log',
    'config',
    'lib',
  ],
  'service.ts': ['workers', 'supervisor', 'edge', 'admin', 'native', 'proxy', 'upstream', 'log', 'config', 'lib'],
  'index.ts': ['service.ts', 'supervisor', 'edge', 'admin', 'native', 'proxy', 'upstream', 'log', 'config', 'lib'],
  workers: ['edge', 'native', 'proxy', 'upstream', 'log', 'config', 'lib'],
  supervisor: ['log', 'config', 'lib'],
  edge: ['native', 'proxy', 'upstream', 'log', 'config', 'lib'],
  admin: ['proxy', 'upstream', 'log', 'config', 'lib'],
  native: ['log', 'config', 'lib'],
  proxy: ['upstream', 'log', 'config', 'lib'],
  upstream: ['log', 'config', 'lib'],
  log: ['config', 'lib'],
  config: ['lib'],
  lib: [],
};

function violations(files: Iterable<{ file: string; text: string }>): string[] {
  const found: string[] = [];
  for (const { file, text } of files) {
    const from = file.split('/')[0]!;
    for (const [, specifier] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const to = relative(source, join(source, dirname(file), specifier!)).split('/')[0]!;
      if (to !== from && !(ALLOWED[from] ?? []).includes(to)) found.push(`${file} imports ${specifier}`);
    }
  }
  return found;
}

test('imports in src go one way: main, service, edge and supervisor, proxy, upstream, config, lib', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file, text: readFileSync(join(source, file), 'utf8') }));
  assert.ok(files.length > 3, 'the source folder was not found');
  assert.deepEqual(violations(files), []);
});

test('the direction check sees a wrong import, static or dynamic', () => {
  assert.deepEqual(violations([{ file: 'lib/a.ts', text: "import { x } from '../config/config.ts';" }]), [
    'lib/a.ts imports ../config/config.ts',
  ]);
  assert.equal(violations([{ file: 'upstream/a.ts', text: "await import('../edge/edge.ts')" }]).length, 1);
});
