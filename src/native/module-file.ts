import { statSync } from 'node:fs';
import { ConfigError } from '../config/config-error.ts';
import { quoteValue } from '../lib/quote-value.ts';

/**
 * Looks whether there is a file where `UWSRP_WS_MODULE` says; what is in it, only the boot finds out.
 *
 * @throws ConfigError
 */
export function checkModuleFile(path: string | undefined): void {
  const problem = path === undefined ? undefined : problemOf(path);
  if (problem === undefined) return;
  throw new ConfigError([`UWSRP_WS_MODULE: ${quoteValue(path!)} ${problem} (allowed: the path of a module)`]);
}

function problemOf(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? undefined : 'is no file';
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code}`;
  }
}
