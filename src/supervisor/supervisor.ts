import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { formatDuration } from '../lib/duration.ts';
import { exitCodeOf, UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import { type AppAddress, chooseAppAddress } from './app-address.ts';
import type { Command } from './command.ts';
import type { CommandEnd } from './command-end.ts';
import { CommandProcess } from './command-process.ts';
import { isOnAllInterfaces, listenersOf } from './listening-ports.ts';
import { findLostPort, PortLost } from './lost-port.ts';
import { createProbe } from './probe.ts';
import { waitUntilReady } from './readiness.ts';
import { TERMINAL_SIGNALS } from './stop-signals.ts';
import { explainWrongPort } from './wrong-port.ts';

export interface SupervisorOptions {
  readonly config: Config;
  readonly command: Command;
  readonly log: Logger;
  /** uwsrp's version, for the user agent of the readiness requests. */
  readonly version: string;
  /** Whether standard input is a terminal: the command then stays in our process group, to read from it. */
  readonly hasTerminal?: boolean;
  /** Called when the command has been started, again on another port too: there is time for work while it boots. */
  readonly onStarted?: () => void;
}

/** How often a command is started on another port, when the one we chose was taken by another process meanwhile. */
const MAX_STARTS = 3;
/** Where the platform signals every process at once, the leader may be gone before our own signal arrives. */
const SAME_STOP_MS = 1000;

/**
 * The life of the user's command, from spawning it to the end of its last process.
 *
 *     const supervisor = new Supervisor({ config, command, log, version });
 *     const target = await supervisor.start(stop);   // stop: aborted with the name of the signal that came
 *     …serve…
 *     supervisor.terminate();                        // after draining: SIGTERM to the group, once
 *     supervisor.kill();                             // at the deadline, or on a second signal: SIGKILL to the group
 *     const { exitCode } = await supervisor.ended;
 *     await supervisor.end();                        // instead, where there is nothing to drain (port not bound)
 *
 * - `start` resolves with where the command answers, or rejects when nothing of the command is left: with a
 *   UwsrpError (COMMAND_NOT_FOUND, COMMAND_NOT_EXECUTABLE, CONFIG_INVALID for the socket path, APP_NOT_READY, or
 *   COMMAND_ENDED with the command's own exit code), or with the signal's reason; after that one `ended` has the exit
 *   code. While `start` waits for a stubborn command to end, `kill` ends it at once.
 * - `leaderEnded` resolves when the process that was spawned has ended, `ended` when its whole group has. Both give
 *   the leader's exit code and a description, and never reject. `leaderEnded` tells the end by SIGTERM or SIGINT up to
 *   a second later, so that `stop` is aborted by then if it is part of the same stop.
 * - A leader that ends by itself takes the rest of its group with it: SIGTERM, then SIGKILL after the shutdown
 *   timeout. Once `stop` is aborted the caller's schedule counts, and only `terminate` and `kill` act.
 */
export class Supervisor {
  readonly leaderEnded: Promise<CommandEnd>;
  readonly ended: Promise<CommandEnd>;
  readonly #options: SupervisorOptions;
  readonly #sharesGroup: boolean;
  #child: CommandProcess | undefined;
  #stop: AbortSignal = new AbortController().signal;
  #variables: Readonly<Record<string, string>> = {};
  #resolveLeaderEnded!: (end: CommandEnd) => void;
  #resolveEnded!: (end: CommandEnd) => void;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#sharesGroup = options.hasTerminal ?? isatty(0);
    this.leaderEnded = new Promise((resolve) => {
      this.#resolveLeaderEnded = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Whether the process that was spawned still runs. */
  get isRunning(): boolean {
    return this.#child?.isLeaderRunning ?? false;
  }

  /** Starts the command, with these variables besides its own, and waits until it is ready. Call it once. */
  async start(stop: AbortSignal, variables: Readonly<Record<string, string>> = {}): Promise<UpstreamTarget> {
    this.#stop = stop;
    this.#variables = variables;
    try {
      const target = await this.#startUntilReady();
      void this.#follow(this.#child!);
      return target;
    } catch (error) {
      const end = this.#child === undefined ? neverStarted(error) : await this.#child.leaderEnd;
      this.#resolveLeaderEnded(end);
      this.#resolveEnded(end);
      throw error;
    }
  }

  /**
   * SIGTERM to the command's group; later calls do nothing. After Ctrl-C, which the terminal has told the command too,
   * it comes a second later: the command may be ending already.
   */
  terminate(): void {
    const child = this.#child;
    if (this.#sharesGroup && this.#stop.reason === 'SIGINT') {
      setTimeout(() => child?.terminate(), SAME_STOP_MS).unref();
    } else {
      child?.terminate();
    }
  }

  /** SIGKILL to the command's group. */
  kill(): void {
    this.#child?.kill();
  }

  /** SIGTERM to the command's group, then SIGKILL after the shutdown timeout; resolves when it is gone. */
  async end(): Promise<CommandEnd> {
    if (this.#child !== undefined) await this.#endGroup(this.#child);
    return this.ended;
  }

  /** Hands a signal on to the command's group, unless the terminal has done that. */
  signal(name: NodeJS.Signals): void {
    if (this.#sharesGroup && TERMINAL_SIGNALS.includes(name)) return;
    this.#child?.signalGroup(name);
  }

  /** Starts the command, anew on another port when the chosen one was lost; leaves nothing running when it fails. */
  async #startUntilReady(): Promise<UpstreamTarget> {
    for (let starts = 1; ; starts += 1) {
      this.#child = undefined;
      const address = await chooseAppAddress(this.#options.config);
      this.#stop.throwIfAborted();
      const child = await this.#spawn(address);
      try {
        return await this.#waitUntilReady(child, address);
      } catch (error) {
        await this.#endGroup(child);
        this.#stop.throwIfAborted();
        if (!(error instanceof PortLost) || starts === MAX_STARTS) throw error;
        this.#options.log.warn(`${error.message}; starting the command again on another port`);
      }
    }
  }

  async #spawn(address: AppAddress): Promise<CommandProcess> {
    const { config, command, log, onStarted } = this.#options;
    const child = await CommandProcess.spawn({
      command,
      environment: { ...config.childEnvironment, ...this.#variables, [config.appPortVariable]: address.value },
      workDirectory: config.workDirectory,
      sharesGroup: this.#sharesGroup,
    });
    this.#child = child;
    const { display, source } = command;
    log.info({ command: display, source, commandPid: child.pid, listen: address.value }, 'started the command');
    onStarted?.();
    return child;
  }

  async #waitUntilReady(child: CommandProcess, address: AppAddress): Promise<UpstreamTarget> {
    const { config, log, version } = this.#options;
    const early = new AbortController();
    void child.leaderEnd.then((end) => early.abort(end));
    const { readyFile, workDirectory } = config;
    const probe = createProbe({
      candidates: address.candidates,
      path: config.readyPath,
      statuses: config.readyStatus,
      file: readyFile === undefined ? undefined : resolve(workDirectory, readyFile),
      userAgent: `uwsrp/${version}`,
    });
    try {
      const target = await waitUntilReady({
        probe,
        timeoutMs: config.readyTimeoutMs,
        signal: AbortSignal.any([this.#stop, early.signal]),
        onSlow: (waitedMs, reason) =>
          log.warn(`the command is not ready after ${Math.round(waitedMs / 1000)} s: ${reason}`),
        explain: () => explainWrongPort(listenersOf(child.pids()), address, config),
      });
      this.#inspectListeners(child, address);
      return target;
    } catch (error) {
      if (this.#stop.aborted || !early.signal.aborted) throw error;
      await this.#endGroup(child);
      throw this.#endedEarly(await child.leaderEnd, address);
    }
  }

  /** Makes sure that a port of our choice is the command's own, and says so when it is open to the outside. */
  #inspectListeners(child: CommandProcess, address: AppAddress): void {
    const listeners = address.port === undefined ? [] : listenersOf(child.pids(), address.port);
    if (listeners.length === 0) {
      const lost = findLostPort(address, this.#options.config.appPortVariable);
      if (lost !== undefined) throw lost;
    }
    const open = listeners.find(isOnAllInterfaces);
    if (open !== undefined) {
      this.#options.log.warn(
        `the command listens on all interfaces (${open.address}), so that port ${open.port} can be reached without uwsrp: make it listen on 127.0.0.1 (many frameworks read HOST=127.0.0.1)`,
      );
    }
  }

  #endedEarly(end: CommandEnd, address: AppAddress): UwsrpError {
    const lost = end.exitCode === 0 ? undefined : findLostPort(address, this.#options.config.appPortVariable);
    if (lost !== undefined) return lost;
    const { command } = this.#options;
    const remedy = end.exitCode === 0 ? STAY_IN_FOREGROUND : '';
    return new UwsrpError(
      'COMMAND_ENDED',
      `the command "${command.display}" ${end.description} before it was ready${remedy}`,
      { exitCode: end.exitCode },
    );
  }

  /** From ready to the end of the last process. */
  async #follow(child: CommandProcess): Promise<void> {
    const end = await child.leaderEnd;
    if (end.exitCode === 143 || end.exitCode === 130) await this.#waitForSameStop(child);
    this.#resolveLeaderEnded(end);
    if (!this.#stop.aborted) await this.#endGroup(child);
    await child.groupGone;
    this.#resolveEnded(end);
  }

  /**
   * A leader that was stopped by a signal may be only the first of all processes to get it. Whether a stop is under way
   * must be known before anybody acts on its end, or the rest of the group gets a second SIGTERM in the middle of its
   * last requests.
   */
  async #waitForSameStop(child: CommandProcess): Promise<void> {
    const over = new AbortController();
    const wait = sleep(SAME_STOP_MS, undefined, { ref: false, signal: AbortSignal.any([this.#stop, over.signal]) });
    await Promise.race([child.groupGone, wait.catch(() => {})]);
    over.abort();
  }

  async #endGroup(child: CommandProcess): Promise<void> {
    if (child.isGroupGone) return;
    const { shutdownTimeoutMs } = this.#options.config;
    this.terminate();
    const deadline = setTimeout(() => {
      this.#options.log.warn(
        `the command did not end within ${formatDuration(shutdownTimeoutMs)} of SIGTERM (UWSRP_SHUTDOWN_TIMEOUT): killing it`,
      );
      child.kill();
    }, shutdownTimeoutMs);
    await child.groupGone;
    clearTimeout(deadline);
  }
}

const STAY_IN_FOREGROUND =
  ': a server must stay in the foreground (nginx: daemon off), and a command that is not a server needs UWSRP_MODE=off';

function neverStarted(error: unknown): CommandEnd {
  const exitCode = error instanceof UwsrpError ? exitCodeOf(error) : 143;
  return { exitCode, description: 'was not started' };
}
