import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../helpers/repository.ts';

/**
 * Each takes 4 to 20 ms and 2 to 7 MB on Node 24, and most containers need none of them. Who needs one takes it from
 * `process.getBuiltinModule` when it does.
 */
const SLOW = /^import (?!type ).* from '(?:dotenv|ioredis|node:(?:crypto|fs\/promises|https?|tls))';$/m;

test('no module that takes long to load is imported at boot', () => {
  const source = join(repositoryRoot, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  assert.ok(files.length > 3, 'the source folder was not found');
  assert.deepEqual(
    files.filter((file) => SLOW.test(readFileSync(join(source, file), 'utf8'))),
    [],
  );
});

test('the check sees an import of code, and lets one of types be', () => {
  assert.match("import { readFile } from 'node:fs/promises';", SLOW);
  assert.match("a();\nimport http from 'node:http';\n", SLOW);
  assert.doesNotMatch("import type { Server } from 'node:http';", SLOW);
  assert.doesNotMatch("import { connect } from 'node:net';", SLOW);
});

/** What a module imports at once, and what that imports, as paths in src/. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(join(repositoryRoot, 'src', file), 'utf8');
  const imports = text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';$/gm);
  for (const [, path] of imports) loadedWith(relative('.', join(dirname(file), path!)), seen);
  return seen;
}

test('what serves requests is loaded while the command boots, not before it starts', () => {
  const before = ['main.ts', 'service.ts', 'workers/single-front.ts'].flatMap((file) => [...loadedWith(file)]);
  assert.ok(before.includes('supervisor/supervisor.ts'));
  assert.deepEqual(
    before.filter((file) => /^(edge|upstream)\//.test(file)),
    [],
  );
  assert.ok([...loadedWith('workers/thread-front.ts')].includes('edge/edge.ts'));
});
