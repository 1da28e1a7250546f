import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { markedProcesses } from './marked-processes.ts';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

export interface Program {
  readonly pid: number;
  /** Both streams so far. */
  output(): string;
  /** Waits until both streams together match, also when they do already. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  write(text: string): void;
  kill(signal: NodeJS.Signals): void;
  /** Exit code, or the name of the signal that ended it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** Living processes that it started, itself among them. */
  processes(): number[];
}

const MARK = 'TEST_RUN_MARK';

/** Runs any program in test/fixtures/commands; what is left of it after the test fails that, and is killed. */
export function runProgram(
  t: TestContext,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program {
  const mark = randomBytes(8).toString('hex');
  const child = spawn(words[0]!, words.slice(1), {
    cwd: inRepository('test', 'fixtures', 'commands'),
    env: { PATH: process.env.PATH, ...env, [MARK]: mark },
    stdio: 'pipe',
  });
  let output = '';
  let hasExited = false;
  let wake = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  child.stdin.on('error', () => {});
  const exit = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      hasExited = true;
      resolve(signal ?? code ?? 0);
      wake();
    });
  });
  const processes = () => markedProcesses(`${MARK}=${mark}`);
  t.after(() => {
    const orphans = processes();
    for (const pid of orphans) process.kill(pid, 'SIGKILL');
    if (orphans.length > 0) throw new Error(`processes were left behind: ${orphans.join(', ')}\n${output}`);
  });
  return {
    pid: child.pid!,
    output: () => output,
    async waitFor(pattern) {
      for (;;) {
        const match = pattern.exec(output);
        if (match !== null) return match;
        if (hasExited) throw new Error(`the program ended before ${pattern}; the output was:\n${output}`);
        const news = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await withTimeout(news, () => `${pattern}; the output was:\n${output}`, 10_000);
      }
    },
    write: (text) => child.stdin.write(text),
    kill: (signal) => child.kill(signal),
    get exit() {
      return withTimeout(exit, () => `the end; the output was:\n${output}`, 10_000);
    },
    processes,
  };
}
