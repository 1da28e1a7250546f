import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const LIMIT_MS = 5000;

/**
 * The place of a SyntaxError that import() of this URL gave, as Node would print it: file and line, the line, and a mark below it.
 * Node keeps it with the error where only itself can read it, so another Node parses the files once more. `text` is the first
 * line of the error's stack. Undefined when the same error is not found.
 */
export function locateSyntaxError(url: string, text: string): Promise<string | undefined> {
  const program = fileURLToPath(new URL('./parse-modules.js', import.meta.url));
  const words = ['--experimental-vm-modules', '--no-warnings', program, url];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { env: {}, timeout: LIMIT_MS }, (_, _stdout, stderr) => {
      const end = stderr.indexOf(`\n${text}\n`);
      resolve(end === -1 ? undefined : stderr.slice(0, end).trimEnd());
    });
  });
}
