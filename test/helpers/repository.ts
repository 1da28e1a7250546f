import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package.json: tests run compiled, from below build/, and still find fixtures and dist. */
export const repositoryRoot = findRoot(dirname(fileURLToPath(import.meta.url)));

/** Path of something in the repository: `inRepository('test', 'fixtures', 'app.py')`. */
export function inRepository(...parts: string[]): string {
  return join(repositoryRoot, ...parts);
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  if (folder === dirname(folder)) throw new Error('no package.json above the test files');
  return findRoot(dirname(folder));
}
