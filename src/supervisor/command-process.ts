import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandEnd, commandEnd } from './command-end.ts';
import { ownGroup, type ProcessGroup, sharedGroup } from './process-group.ts';
import { type SpawnOptions, spawnCommand } from './spawn-command.ts';

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

  /** @throws UwsrpError COMMAND_NOT_FOUND or COMMAND_NOT_EXECUTABLE. */
  static async spawn(options: SpawnOptions): Promise<CommandProcess> {
    const child = await spawnCommand(options);
    const pid = child.pid!;
    return new CommandProcess(child, options.sharesGroup ? sharedGroup(pid) : ownGroup(pid));
  }

  private constructor(child: ChildProcess, group: ProcessGroup) {
    this.pid = child.pid!;
    this.#group = group;
    this.leaderEnd = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#isLeaderRunning = false;
        resolve(commandEnd(code, signal));
      });
      this.#giveUp = () => {
        this.#hasGivenUp = true;
        resolve({ exitCode: 137, description: 'did not end on SIGKILL' });
      };
    });
    // A fault of ours must leave nothing running that nobody watches any more.
    const killOnExit = () => this.signalGroup('SIGKILL');
    process.once('exit', killOnExit);
    this.groupGone = this.leaderEnd.then(() => this.#waitForGroup()).finally(() => process.off('exit', killOnExit));
  }

  get isLeaderRunning(): boolean {
    return this.#isLeaderRunning;
  }

  get isGroupGone(): boolean {
    return this.#isGroupGone;
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
