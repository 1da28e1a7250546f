import { UwsrpError } from '../lib/errors.ts';

/**
 * Everything that is wrong with the configuration, at once: one line each, with the variable (or file and line), what
 * was wrong and what is allowed. Values of secrets are never in it.
 */
export class ConfigError extends UwsrpError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('CONFIG_INVALID', problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
