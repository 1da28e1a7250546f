import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Logger, pino } from 'pino';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Command } from '../../src/supervisor/command.ts';
import { Supervisor } from '../../src/supervisor/supervisor.ts';
import { markedProcesses } from './marked-processes.ts';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

export interface SuperviseOptions {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** test/fixtures/commands unless given. */
  readonly workDirectory?: string;
  /** Variables of ours and for the command. Of the test's own environment PATH alone is handed on. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A supervisor with a real command, in the test's own process. */
export interface Supervised {
  readonly supervisor: Supervisor;
  /** Abort it for a stop. */
  readonly stop: AbortController;
  /** `supervisor.start`, which must settle in time. */
  start(): ReturnType<Supervisor['start']>;
  /** `supervisor.ended`, which must come in time. */
  ended(): Supervisor['ended'];
  /** The messages logged so far at `warn` and above. */
  warnings(): string[];
  /** Process id of the command that was spawned last, which leads its group. */
  leaderPid(): number;
  /** Living processes of the command, by the mark in their environment. */
  processes(): number[];
}

const MARK = 'TEST_RUN_MARK';

/** What is left of the command after the test fails it, and is killed. */
export function supervise(t: TestContext, { command, env, workDirectory }: SuperviseOptions): Supervised {
  const mark = randomBytes(8).toString('hex');
  const { config } = loadConfig({
    env: { PATH: process.env.PATH, ...env, [MARK]: mark },
    workDirectory: workDirectory ?? inRepository('test', 'fixtures', 'commands'),
    readFile: () => {
      throw Object.assign(new Error('no file'), { code: 'ENOENT' });
    },
  });
  const { log, lines } = recordingLogger();
  const supervisor = new Supervisor({
    config,
    command: toCommand(command),
    log,
    version: '1.2.3',
    hasTerminal: false,
  });
  const stop = new AbortController();
  const processes = () => markedProcesses(`${MARK}=${mark}`);
  t.after(() => {
    const orphans = processes();
    for (const pid of orphans) process.kill(pid, 'SIGKILL');
    if (orphans.length > 0) throw new Error(`the supervisor left processes behind: ${orphans.join(', ')}`);
  });
  return {
    supervisor,
    stop,
    start: () => withTimeout(supervisor.start(stop.signal), 'the command to be ready or to fail', 20_000),
    ended: () => withTimeout(supervisor.ended, 'the end of the command', 10_000),
    warnings: () => lines.filter((line) => line.level >= 40).map((line) => line.msg),
    leaderPid: () => lines.findLast((line) => line.commandPid !== undefined)!.commandPid!,
    processes,
  };
}

export function toCommand(words: readonly string[]): Command {
  const [file = '', ...args] = words;
  return { file, args, display: words.join(' '), source: 'arguments' };
}

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly commandPid?: number;
}

function recordingLogger(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = pino({ level: 'debug' }, { write: (text: string) => lines.push(JSON.parse(text)) });
  return { log, lines };
}
