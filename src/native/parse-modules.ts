import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SourceTextModule } from 'node:vm';

// What locateSyntaxError runs in a process of its own: parses the module at the URL that it is given, and those that it
// imports by a relative name, and executes none. Node prints the first SyntaxError with its place, and ends with 1.

const seen = new Set<string>();
parse(process.argv[2]!);

function parse(url: string): void {
  if (seen.has(url)) return;
  seen.add(url);
  const path = fileURLToPath(url);
  const source = tryRead(path);
  if (source === undefined) return;
  const module = new SourceTextModule(source, { identifier: path });
  for (const name of module.dependencySpecifiers) if (/^\.{0,2}\/|^file:/.test(name)) parse(new URL(name, url).href);
}

/** Undefined for what is not JavaScript, or not there: no SyntaxError comes of that. */
function tryRead(path: string): string | undefined {
  if (!/\.[cm]?js$/.test(path)) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
