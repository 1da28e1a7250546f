import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** uwsrp's version, from the package.json that lies beside `dist/` (in the repository, in node_modules, in the image). */
export function readVersion(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = tryReadManifest(join(folder, 'package.json'));
    if (manifest?.name === 'uwsrp' && typeof manifest.version === 'string') return manifest.version;
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json of uwsrp above ${fileURLToPath(import.meta.url)}`);
    folder = parent;
  }
}

function tryReadManifest(path: string): { name?: unknown; version?: unknown } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  return JSON.parse(text);
}
