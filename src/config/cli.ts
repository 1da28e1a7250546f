import { dropOwnName } from '../lib/own-name.ts';
import { quoteValue } from '../lib/quote-value.ts';
import { ConfigError } from './config-error.ts';

/** What the arguments ask for. */
export type CliRequest =
  | { readonly kind: 'help' | 'check' | 'version' }
  /** An empty list: no command was given as arguments. */
  | { readonly kind: 'run'; readonly args: readonly string[] };

const FLAGS = ['help', 'check', 'version'] as const;

/**
 * Reads the arguments after the program's name. Only a first one that starts with `--` is ours; whatever follows the
 * command's first word belongs to the command. `--` ends ours. Leading words `uwsrp` do not count.
 *
 * @throws ConfigError for an unknown flag.
 */
export function parseArguments(argv: readonly string[]): CliRequest {
  const args = dropOwnName(argv);
  const first = args[0];
  if (first === '--') return { kind: 'run', args: dropOwnName(args.slice(1)) };
  if (first === undefined || !first.startsWith('--')) return { kind: 'run', args };
  const kind = FLAGS.find((flag) => first === `--${flag}`);
  if (kind === undefined) {
    const known = FLAGS.map((flag) => `--${flag}`).join(', ');
    throw new ConfigError([
      `${quoteValue(first)} is not a flag of uwsrp (allowed: ${known}, or -- before the command)`,
    ]);
  }
  return { kind };
}
