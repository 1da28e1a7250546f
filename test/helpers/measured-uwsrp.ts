import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { inRepository } from './repository.ts';
import { until } from './until.ts';

/** The product as a process of this host, whose own work is to be counted. */
export class MeasuredUwsrp {
  port = 0;
  /** Everything it wrote to stdout. */
  output = '';
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
  }

  /** Starts it in front of an app of the test, with flags of Node. */
  static async start(t: TestContext, appPort: number, ...flags: string[]): Promise<MeasuredUwsrp> {
    const env = { PATH: process.env.PATH, PORT: '0', UWSRP_APP_PORT: `${appPort}`, UWSRP_HOST: '127.0.0.1' };
    const args = [...flags, inRepository('dist', 'main.js'), 'sleep', '1000'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const uwsrp = new MeasuredUwsrp(child);
    t.after(() => uwsrp.#stop());
    const listening = () => /"port":(\d+)/.exec(uwsrp.output);
    await until(() => listening() !== null, 'the port to be open', 10_000);
    uwsrp.port = Number(listening()![1]);
    return uwsrp;
  }

  /** Counts the system calls of the process, with all its threads, while `run` does its work. */
  async countCalls(run: () => Promise<void>): Promise<Map<string, number>> {
    const strace = spawn('strace', ['-f', '-c', '-p', `${this.#child.pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    strace.stderr!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = once(strace, 'close');
    await until(() => output.includes('attached'), 'strace to be attached', 10_000);
    await run();
    strace.kill('SIGINT');
    await ended;
    // "% time  seconds  usecs/call  calls  errors  syscall", of which errors may be missing.
    const rows = output.matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?([a-z]\w+)$/gm);
    return new Map([...rows].filter(([, , name]) => name !== 'total').map(([, calls, name]) => [name!, Number(calls)]));
  }

  async #stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await ended;
  }
}
