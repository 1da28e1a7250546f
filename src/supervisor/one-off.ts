import { isatty } from 'node:tty';
import type { Config } from '../config/config.ts';
import type { Command } from './command.ts';
import { commandEnd } from './command-end.ts';
import { locateExecutable } from './locate-executable.ts';
import { spawnCommand } from './spawn-command.ts';
import { TERMINAL_SIGNALS } from './stop-signals.ts';

export interface OneOffOptions {
  readonly command: Command;
  readonly config: Pick<Config, 'childEnvironment' | 'workDirectory'>;
  readonly hasTerminal?: boolean;
  /** `process.execve`, which Node has from 22.15 on; undefined runs the command as a child. */
  readonly execve?: Execve | undefined;
}

/** Replaces this process by another program, under the same process id. */
type Execve = (file: string, args: readonly string[], environment: Readonly<Record<string, string>>) => void;

const systemExecve = (process as { execve?: Execve }).execve?.bind(process);

const OTHER_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/**
 * Runs a command that does not serve (`heroku run`, a worker, a release phase, `docker run -it image bash`) as if uwsrp
 * were not there: same process where Node can replace itself, same group, streams, terminal and PORT. Resolves with its
 * exit code (128+n for a signal) where it ran as a child. Call it before anything uses `process.stdin` or
 * `process.stdout`: those make the streams non-blocking, which a program that takes them over does not expect.
 *
 * @throws UwsrpError COMMAND_NOT_FOUND or COMMAND_NOT_EXECUTABLE.
 */
export async function runOneOff(options: OneOffOptions): Promise<number> {
  const execve = 'execve' in options ? options.execve : systemExecve;
  if (execve !== undefined) replaceProcess(options, execve);
  return runAsChild(options);
}

/**
 * Node aborts with a stack trace when execve fails, so the way leads over a shell, which tells what went wrong in a
 * line of its own and exits with 126 or 127 (and which can run a script that has no first line with an interpreter).
 */
function replaceProcess({ command, config }: OneOffOptions, execve: Execve): void {
  locateExecutable(command.file, config.childEnvironment, config.workDirectory);
  process.chdir(config.workDirectory);
  // Node ignores SIGPIPE and a new program would inherit that (`yes | head` would never be stopped by it); a signal
  // with a handler goes back to its default.
  process.on('SIGPIPE', () => {});
  execve('/bin/sh', ['/bin/sh', '-c', 'exec "$0" "$@"', command.file, ...command.args], config.childEnvironment);
}

async function runAsChild({ command, config, hasTerminal = isatty(0) }: OneOffOptions): Promise<number> {
  const { childEnvironment: environment, workDirectory } = config;
  let passOn = (_signal: NodeJS.Signals) => {};
  const listener = (signal: NodeJS.Signals) => {
    if (!hasTerminal || !TERMINAL_SIGNALS.includes(signal)) passOn(signal);
  };
  const signals = [...TERMINAL_SIGNALS, ...OTHER_SIGNALS];
  for (const signal of signals) process.on(signal, listener);
  try {
    const child = await spawnCommand({ command, environment, workDirectory, sharesGroup: true });
    passOn = (signal) => child.kill(signal);
    // A command that became another user's cannot be signalled, which is no reason to leave it.
    child.on('error', () => {});
    return await new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(commandEnd(code, signal).exitCode));
    });
  } finally {
    for (const signal of signals) process.off(signal, listener);
  }
}
