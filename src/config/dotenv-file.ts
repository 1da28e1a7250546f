import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { quoteValue } from '../lib/quote-value.ts';

export interface DotenvFile {
  /** The file that was read; undefined when there is none. */
  readonly path: string | undefined;
  readonly values: Readonly<Record<string, string>>;
  readonly problem?: string;
}

const NONE: DotenvFile = { path: undefined, values: {} };

/**
 * Reads `.env` in the work folder when it is there, or the file that UWSRP_DOTENV names, which must be there; `off`
 * reads none. `dotenv.parse` only: it neither prints nor touches process.env.
 */
export function readDotenvFile(
  setting: string | undefined,
  workDirectory: string,
  readFile: (path: string) => string,
): DotenvFile {
  if (setting?.toLowerCase() === 'off') return NONE;
  const path = resolve(workDirectory, setting ?? '.env');
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A folder called .env is a Python virtual environment, not a file that cannot be read.
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
    if (setting === undefined && isAbsent) return NONE;
    const reason = code === 'ENOENT' ? 'it does not exist' : (code ?? message);
    return {
      ...NONE,
      problem: `UWSRP_DOTENV: ${quoteValue(path)} cannot be read: ${reason} (allowed: the path of a file that can be read, or off)`,
    };
  }
  // Loaded only here: most containers have no such file.
  const { parse }: typeof import('dotenv') = createRequire(import.meta.url)('dotenv');
  return { path, values: parse(text.replace(/^\uFEFF/, '')) };
}
