import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { parseProcfile } from '../config/procfile.ts';
import { UwsrpError } from '../lib/errors.ts';
import { dropOwnName, dropOwnNameFromLine } from '../lib/own-name.ts';
import type { Command } from './command.ts';
import { withExec } from './shell-text.ts';

export interface FindCommandOptions {
  /** What was given after uwsrp's own flags. */
  readonly args: readonly string[];
  readonly config: Pick<Config, 'command' | 'process' | 'workDirectory'>;
  /** The text of a file, undefined when there is none. */
  readonly readFile: (path: string) => string | undefined;
  /** Whether there is a file (no directory) of this name. */
  readonly fileExists: (path: string) => boolean;
}

const WAYS_TO_GIVE_ONE =
  'give one as arguments (uwsrp node server.js, or CMD ["node", "server.js"] in the Dockerfile), in UWSRP_COMMAND, ' +
  'as the web process of a Procfile, or as the start script of package.json';

/**
 * Finds the user's command (design sections 2 and 3): the arguments win, then `UWSRP_COMMAND`, then the process
 * `UWSRP_PROCESS` of the Procfile, then `npm start`. A leading `uwsrp` is no command.
 *
 * @throws UwsrpError COMMAND_MISSING, with all the ways to give one; CONFIG_INVALID for a malformed Procfile.
 */
export function findCommand(options: FindCommandOptions): Command {
  const { args, config } = options;
  const words = dropOwnName(args);
  if (words.length > 1) return execForm(words, 'arguments');
  if (words[0] !== undefined) return singleText(words[0], 'arguments', options);

  const text = dropOwnNameFromLine(config.command ?? '').trim();
  if (text !== '') return singleText(text, 'UWSRP_COMMAND', options);

  const obstacles: string[] = [];
  const command = fromProcfile(options, obstacles) ?? fromPackage(options, obstacles);
  if (command !== undefined) return command;
  throw new UwsrpError('COMMAND_MISSING', `there is no command to run${describe(obstacles)}: ${WAYS_TO_GIVE_ONE}`);
}

function execForm(words: readonly string[], source: string): Command {
  const [file = '', ...args] = words;
  return { file, args, display: words.map(quoteWord).join(' '), source };
}

/** Heroku hands CMD over as one text. A file of that name, blanks and all, is run as the file; else it is shell text. */
function singleText(text: string, source: string, { config, fileExists }: FindCommandOptions): Command {
  const path = resolve(config.workDirectory, text);
  return fileExists(path) ? { file: path, args: [], display: text, source } : shellForm(text, source);
}

function shellForm(text: string, source: string): Command {
  return { file: '/bin/sh', args: ['-c', withExec(text)], display: text, source };
}

function fromProcfile({ config, readFile }: FindCommandOptions, obstacles: string[]): Command | undefined {
  const { process, workDirectory } = config;
  const text = readFile(resolve(workDirectory, 'Procfile'));
  if (text === undefined) {
    if (process !== 'web') obstacles.push(`UWSRP_PROCESS is ${process}, but there is no Procfile`);
    return undefined;
  }
  const processes = parseProcfile(text);
  const line = processes.get(process);
  if (line) return shellForm(line, `Procfile (${process})`);
  obstacles.push(
    line === ''
      ? `the process ${process} of the Procfile says nothing but uwsrp`
      : `the Procfile has no process ${process} (it has ${[...processes.keys()].join(', ') || 'none'})`,
  );
  return undefined;
}

/** Another process than `web` was asked for by name, so the app's usual start is no stand-in for it. */
function fromPackage({ config, readFile }: FindCommandOptions, obstacles: string[]): Command | undefined {
  if (config.process !== 'web') return undefined;
  const text = readFile(resolve(config.workDirectory, 'package.json'));
  if (text === undefined) return undefined;
  const start = startScriptOf(text);
  if (start === undefined) {
    obstacles.push('package.json has no start script, or is not valid JSON');
    return undefined;
  }
  const line = dropOwnNameFromLine(start);
  if (line === start) return execForm(['npm', 'start'], 'package.json');
  if (line !== '') return { file: 'npm', args: ['exec', '-c', line], display: line, source: 'package.json' };
  obstacles.push('the start script of package.json says nothing but uwsrp');
  return undefined;
}

function startScriptOf(packageJson: string): string | undefined {
  try {
    const { scripts } = JSON.parse(packageJson) as { scripts?: { start?: unknown } };
    return typeof scripts?.start === 'string' && scripts.start.trim() !== '' ? scripts.start : undefined;
  } catch {
    return undefined;
  }
}

function describe(obstacles: readonly string[]): string {
  return obstacles.length === 0 ? '' : ` (${obstacles.join('; ')})`;
}

/** As one would type it. */
function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
