import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { UwsrpError } from '../lib/errors.ts';
import type { Command } from './command.ts';
import { locateExecutable } from './locate-executable.ts';
import { ownGroup, type ProcessGroup, sharedGroup } from './process-group.ts';

/** How the command's leader ended. */
export interface CommandEnd {
  /** Its own exit code, or 128+n when signal n ended it. */
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | undefined;
  /** For messages: `exited with code 3`, `was ended by SIGTERM`. */
  readonly description: string;
}

export interface CommandProcessOptions {
  readonly command: Command;
  readonly environment: Readonly<Record<string, string>>;
  readonly workDirectory: string;
  /** Stay in uwsrp's own process group, so that the command may read from the terminal. */
  readonly sharesGroup: boolean;
}

/** After SIGKILL only a process that hangs in the kernel, or that belongs to somebody else, is still there. */
const SURVIVORS_WAIT_MS = 2000;

/** One run of the user's command: its leader and the process group around it. */
export class CommandProcess {
  readonly pid: number;
  /** Resolves when the process that was spawned has ended. Never rejects. */
  readonly leaderEnd: Promise<CommandEnd>;
  /**
   * Resolves when the whole process group is gone (or did not go within 2 s of SIGKILL). `npm start` and `sh -c`
   * leaders may die long before the server that they started. Never rejects.
   */
  readonly groupGone: Promise<void>;
  #group: ProcessGroup;
  #isLeaderRunning = true;
  #isGroupGone = false;
  #isTerminated = false;
  #hasGivenUp = false;
  #giveUp: () => void = () => {};

  /**
   * Spawns the command with the standard streams inherited as they are.
   *
   * @throws UwsrpError COMMAND_NOT_FOUND or COMMAND_NOT_EXECUTABLE.
   */
  static async spawn(options: CommandProcessOptions): Promise<CommandProcess> {
    const { command, environment, workDirectory, sharesGroup } = options;
    let child: ChildProcess;
    try {
      child = spawn(command.file, command.args, {
        cwd: workDirectory,
        env: environment,
        stdio: 'inherit',
        detached: !sharesGroup,
      });
      await once(child, 'spawn');
    } catch (cause) {
      // Finds the reason and throws it; what it cannot explain is told as the system says it.
      const path = locateExecutable(command.file, environment, workDirectory);
      const { code, message } = cause as NodeJS.ErrnoException;
      const reason =
        code === 'ENOENT' ? `the loader that ${path} needs is missing: it was built for another system` : message;
      throw new UwsrpError('COMMAND_NOT_EXECUTABLE', `the command "${command.display}" cannot be run: ${reason}`, {
        cause,
      });
    }
    return new CommandProcess(child, sharesGroup);
  }

  private constructor(child: ChildProcess, sharesGroup: boolean) {
    this.pid = child.pid!;
    this.#group = sharesGroup ? sharedGroup(this.pid) : ownGroup(this.pid);
    this.leaderEnd = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#isLeaderRunning = false;
        resolve(commandEnd(code, signal));
      });
      this.#giveUp = () => {
        this.#hasGivenUp = true;
        resolve({ exitCode: 137, signal: 'SIGKILL', description: 'did not end on SIGKILL' });
      };
    });
    this.groupGone = this.leaderEnd.then(() => this.#waitForGroup());
  }

  get isLeaderRunning(): boolean {
    return this.#isLeaderRunning;
  }

  get isGroupGone(): boolean {
    return this.#isGroupGone;
  }

  /** Whether SIGTERM or SIGKILL was sent through `terminate` or `kill`. */
  get isTerminated(): boolean {
    return this.#isTerminated;
  }

  /** The processes of the command, as far as they can be seen (Linux). */
  pids(): number[] {
    return this.#group.pids();
  }

  /** Sends a signal to the whole group; false when there is nobody left to get it. */
  signalGroup(signal: NodeJS.Signals): boolean {
    return !this.#isGroupGone && this.#group.signal(signal);
  }

  /** SIGTERM to the group, once: a second one makes many servers drop their requests. */
  terminate(): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    this.signalGroup('SIGTERM');
  }

  /** SIGKILL to the group. */
  kill(): void {
    this.#isTerminated = true;
    this.signalGroup('SIGKILL');
    setTimeout(this.#giveUp, SURVIVORS_WAIT_MS).unref();
  }

  async #waitForGroup(): Promise<void> {
    // The kernel tells nobody when a group becomes empty. Mostly it is empty at once, so the first looks come fast.
    for (let waitMs = 2; !this.#group.isGone() && !this.#hasGivenUp; waitMs = Math.min(waitMs * 1.5, 100)) {
      await sleep(waitMs);
    }
    this.#isGroupGone = true;
  }
}

function commandEnd(code: number | null, signal: NodeJS.Signals | null): CommandEnd {
  if (signal === null) return { exitCode: code ?? 0, signal: undefined, description: `exited with code ${code}` };
  return { exitCode: 128 + constants.signals[signal], signal, description: `was ended by ${signal}` };
}
