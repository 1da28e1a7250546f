import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { UwsrpError } from '../lib/errors.ts';

/**
 * The file that a command name stands for, searched as a shell does: a name with a slash is a path from the work
 * folder, any other is looked up in PATH. Used where the system's own answer (ENOENT, EACCES) does not say which of
 * the two, and why.
 *
 * @throws UwsrpError COMMAND_NOT_FOUND or COMMAND_NOT_EXECUTABLE, with the remedy.
 */
export function locateExecutable(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
  workDirectory: string,
): string {
  const folders = name.includes('/') ? [''] : (environment.PATH || '/usr/bin:/bin').split(delimiter);
  let obstacle: string | undefined;
  for (const folder of folders) {
    const path = resolve(workDirectory, folder, name);
    const problem = problemOf(path);
    if (problem === undefined) return path;
    if (problem !== 'missing') obstacle ??= problem;
  }
  if (obstacle !== undefined) throw new UwsrpError('COMMAND_NOT_EXECUTABLE', `the command cannot be run: ${obstacle}`);
  throw new UwsrpError(
    'COMMAND_NOT_FOUND',
    name.includes('/')
      ? `the command was not found: there is no file ${resolve(workDirectory, name)}: check the path (relative ones start from ${workDirectory})`
      : `the command was not found: there is no ${name} in PATH (${folders.join(delimiter)}): check the name, install it in the image, or give its full path`,
  );
}

function problemOf(path: string): string | undefined {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return `${path} is a directory: name a file in it`;
    accessSync(path, constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    return `${path} is not executable: run chmod +x on it, or name its interpreter (node ${path}, python3 ${path})`;
  }
  return loaderProblemOf(path);
}

/** An executable file still fails with ENOENT when the program that its first bytes ask for is not there. */
function loaderProblemOf(path: string): string | undefined {
  const head = readHead(path);
  const shebang = /^#! *([^ \n]+)([^\n]*)/.exec(head);
  if (shebang === null) return undefined;
  const interpreter = shebang[1]!;
  if (shebang[0].endsWith('\r')) {
    return `${path} has Windows line ends, so that its first line asks for ${JSON.stringify(shebang[0].slice(2).trimStart())}: save it with \\n line ends`;
  }
  try {
    statSync(interpreter);
    return undefined;
  } catch {
    return `${path} asks for the interpreter ${interpreter}, which is not there: install it, or correct the first line`;
  }
}

function readHead(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(256);
      return bytes.toString('latin1', 0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
