import type { Config } from './config.ts';
import { PLATFORM_NAMES } from './platform.ts';
import type { ValueSource } from './read-variables.ts';
import { formatDefault, SCHEMA, type Setting, type Variable } from './schema.ts';

/** The text of `uwsrp --check`: the platform, then each variable with the value in force and where it comes from. */
export function formatCheck(config: Config, sources: Readonly<Record<Setting, ValueSource>>): string {
  const rows = (Object.entries(SCHEMA) as [Setting, Variable<unknown>][]).map(([setting, variable]) => {
    const source = describeSource(sources[setting], config);
    return [variable.name, formatValue(variable, config[setting], sources[setting]), source] as const;
  });
  const nameWidth = Math.max(...rows.map(([name]) => name.length)) + 2;
  const valueWidth = Math.max(...rows.map(([, value]) => value.length)) + 2;
  const lines = rows.map(([name, value, source]) => `${name.padEnd(nameWidth)}${value.padEnd(valueWidth)}${source}`);
  const oneOff = config.isOneOff ? 'This process is a one-off: the command runs as it is, without the proxy.\n' : '';
  return `The configuration is valid.\nPlatform: ${config.platform ? PLATFORM_NAMES[config.platform] : 'none recognised'}\n${oneOff}\n${lines.join('\n')}\n`;
}

/** A value in force for people; `none` where a variable was set and that leaves nothing. Secrets are not shown. */
export function formatValue(variable: Variable<unknown>, value: unknown, source: ValueSource): string {
  const isSet = source === 'environment' || source === 'file';
  if (value === undefined || value === null) return isSet ? 'none' : formatDefault(variable).replaceAll('`', '');
  if (variable.isSecret && isSet) return '(set, not shown)';
  return variable.kind.format(value) || '–';
}

function describeSource(source: ValueSource, config: Config): string {
  if (source === 'file') return config.dotenvFile ?? 'file';
  if (source === 'platform') return `default on ${config.platform ? PLATFORM_NAMES[config.platform] : 'this platform'}`;
  return source;
}
