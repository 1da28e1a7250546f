import { dropOwnNameFromLine } from '../lib/own-name.ts';
import { quoteValue } from '../lib/quote-value.ts';
import { ConfigError } from './config-error.ts';

/**
 * The processes of a Procfile (https://devcenter.heroku.com/articles/procfile): `name: command` a line, split at the
 * first colon, `#` lines and blank ones skipped. Commands are shell lines without a leading `uwsrp`; one that said
 * nothing else is an empty text.
 *
 * @throws ConfigError with every wrong line, by number.
 */
export function parseProcfile(text: string): ReadonlyMap<string, string> {
  const processes = new Map<string, string>();
  const lineOf = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(.*)$/.exec(line) ?? [];
    const earlier = lineOf.get(name ?? '');
    if (name === undefined) {
      problems.push(`Procfile line ${index + 1}: ${quoteValue(line)} is not a process (allowed: name: command)`);
    } else if (!command) {
      problems.push(
        `Procfile line ${index + 1}: the process ${quoteValue(name)} has no command (allowed: name: command)`,
      );
    } else if (earlier !== undefined) {
      problems.push(
        `Procfile line ${index + 1}: the process ${quoteValue(name)} stands on line ${earlier} already (allowed: each name once)`,
      );
    } else {
      lineOf.set(name, index + 1);
      processes.set(name, dropOwnNameFromLine(command));
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return processes;
}
