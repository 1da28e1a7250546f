import { resolve } from 'node:path';
import { deepFreeze } from '../lib/deep-freeze.ts';
import { dropOwnNameFromLine } from '../lib/own-name.ts';
import { createChildEnvironment } from './child-environment.ts';
import type { Config } from './config.ts';
import { ConfigError } from './config-error.ts';
import { findConflicts, tryGetStopTimes } from './cross-checks.ts';
import { readDotenvFile } from './dotenv-file.ts';
import { collectGivenValues } from './given-values.ts';
import { isOneOffDyno, recognisePlatform } from './platform.ts';
import { readVariables, type ValueSource } from './read-variables.ts';
import { OWN_NAMES, SCHEMA, type Setting, type Settings } from './schema.ts';
import { findUnknownNames } from './unknown-names.ts';

export interface ConfigInputs {
  /** The real environment, as the process got it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** An absolute path: where `.env` is looked for, and what relative paths count from. */
  readonly workDirectory: string;
  /** Text of a file, or the error that node:fs throws. */
  readonly readFile: (path: string) => string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Where each value comes from, for `--check`. */
  readonly sources: Readonly<Record<Setting, ValueSource>>;
}

/**
 * Reads the whole configuration (design section 3).
 *
 * @throws ConfigError with every problem at once.
 */
export function loadConfig({ env, workDirectory, readFile }: ConfigInputs): LoadedConfig {
  const dotenv = readDotenvFile(env[SCHEMA.dotenvFile.name]?.trim() || undefined, workDirectory, readFile);
  const given = collectGivenValues(env, dotenv.values);
  const platform = recognisePlatform(env);
  const { values, sources, problems: invalid } = readVariables<Settings>(SCHEMA, given, platform);
  const settings = resolvePaths(values, workDirectory);

  const problems = [...invalid.values()];
  if (dotenv.problem !== undefined) problems.push(dotenv.problem);
  if (sources.dotenvFile === 'file') {
    problems.push(`${SCHEMA.dotenvFile.name}: set in ${dotenv.path} (allowed: in the real environment only)`);
  }
  const known = Object.values(SCHEMA).map(({ name }) => name);
  problems.push(...findUnknownNames(given.keys(), known, OWN_NAMES));
  problems.push(...findConflicts(settings, sources, (setting) => invalid.has(setting)));

  const stopTimes = tryGetStopTimes(settings, sources);
  // Without stop times there is a problem: either they conflict or one of them is invalid.
  if (problems.length > 0 || stopTimes === undefined) throw new ConfigError(problems);

  const config: Config = {
    ...settings,
    ...stopTimes,
    platform,
    isOneOff: settings.mode === 'off' || isOneOffDyno(env),
    command: dropOwnNameFromLine(settings.command ?? '') || undefined,
    forwardedFor: forwardedForOn(platform, settings.forwardedFor),
    workDirectory,
    dotenvFile: dotenv.path,
    childEnvironment: createChildEnvironment(env, dotenv.values),
  };
  // What `auto` means is the platform's doing, though `auto` itself is everybody's default.
  const isForwardedForOfPlatform = sources.forwardedFor === 'default' && platform !== undefined;
  return deepFreeze({
    config,
    sources: isForwardedForOfPlatform ? { ...sources, forwardedFor: 'platform' } : sources,
  });
}

function resolvePaths(settings: Settings, workDirectory: string): Settings {
  const resolved = (path: string | undefined) => (path === undefined ? undefined : resolve(workDirectory, path));
  return {
    ...settings,
    appSocket: resolved(settings.appSocket),
    readyFile: resolved(settings.readyFile),
    wsModule: resolved(settings.wsModule),
    errorPages: resolved(settings.errorPages),
    logFile: resolved(settings.logFile),
  };
}

function forwardedForOn(platform: Config['platform'], asked: Settings['forwardedFor']): Config['forwardedFor'] {
  if (asked !== 'auto') return asked;
  return platform === undefined ? 'append' : 'keep';
}
