import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { UwsrpError } from '../lib/errors.ts';
import type { Command } from './command.ts';
import { locateExecutable } from './locate-executable.ts';

export interface SpawnOptions {
  readonly command: Command;
  readonly environment: Readonly<Record<string, string>>;
  readonly workDirectory: string;
  /** Stay in uwsrp's own process group, so that the command may read from the terminal; else it leads one of its own. */
  readonly sharesGroup: boolean;
}

/**
 * Spawns the command with the standard streams inherited as they are.
 *
 * @throws UwsrpError COMMAND_NOT_FOUND or COMMAND_NOT_EXECUTABLE, with the remedy.
 */
export async function spawnCommand(options: SpawnOptions): Promise<ChildProcess> {
  const { command, environment, workDirectory, sharesGroup } = options;
  try {
    const child = spawn(command.file, command.args, {
      cwd: workDirectory,
      env: environment,
      stdio: 'inherit',
      detached: !sharesGroup,
    });
    await once(child, 'spawn');
    return child;
  } catch (cause) {
    // Looks for the reason and throws it; what that cannot explain is told as the system says it.
    const path = locateExecutable(command.file, environment, workDirectory);
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT' ? `the loader that ${path} needs is missing: it was built for another system` : message;
    throw new UwsrpError('COMMAND_NOT_EXECUTABLE', `the command "${command.display}" cannot be run: ${reason}`, {
      cause,
    });
  }
}
