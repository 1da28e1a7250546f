import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { markedProcesses } from './marked-processes.ts';
import { inRepository, repositoryRoot } from './repository.ts';
import { withTimeout } from './timeout.ts';

export interface UwsrpOptions {
  /** Variables of ours and of the platform. Nothing of the test's own environment but PATH is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** The command and its arguments; also flags such as `--check`. */
  readonly args?: readonly string[];
  /** Work folder; by default test/fixtures, which holds no Procfile, no package.json and no .env. */
  readonly cwd?: string;
  /** The app is served by the test on this port (or unix socket), and the command only waits. */
  readonly appPort?: number;
  readonly appSocket?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type LogLine = Record<string, unknown> & { msg?: string };

/** The variable that marks every process a test started, so that what is left over is found. */
const MARK = 'TEST_RUN_MARK';
const IMAGE = process.env.UWSRP_TEST_IMAGE ?? 'uwsrp/node';
/** The whole stop of a test that left requests open must not take the default nine seconds. */
const SECOND_SIGNAL_AFTER_MS = 1100;

/** The built product as a real process: `node dist/main.js`, or the image with `UWSRP_TEST_TARGET=image`. */
export class Uwsrp {
  /** The public port, once it listens. */
  port = 0;
  readonly child: ChildProcess;
  /** Resolves when the port is open; rejects with the whole output when the process ended first. */
  readonly ready: Promise<void>;
  readonly #mark: string;
  readonly #container: string | undefined;
  readonly #exit: Promise<Exit>;
  #stdout = '';
  #stderr = '';
  #wantsExit = false;
  #hasExited = false;
  #pid: number | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: UwsrpOptions) {
    this.#mark = randomBytes(8).toString('hex');
    this.#container = process.env.UWSRP_TEST_TARGET === 'image' ? `uwsrp-test-${this.#mark}` : undefined;
    const env = { PORT: '0', [MARK]: this.#mark, ...appVariables(options), ...options.env };
    const args = options.args ?? (isServedByTest(options) ? ['sleep', '1000'] : []);
    const cwd = options.cwd ?? inRepository('test', 'fixtures');
    const [program, words] = this.#container
      ? (['docker', dockerArguments(this.#container, env, cwd, args)] as const)
      : ([process.execPath, [inRepository('dist', 'main.js'), ...args]] as const);
    this.child = spawn(program, words, {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...(this.#container ? {} : env) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#announce();
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
      this.#announce();
    });
    this.#exit = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      // `close` comes after the streams ended, so the output is whole.
      this.child.once('close', (code, signal) => {
        this.#hasExited = true;
        resolve({ code, signal });
        this.#announce();
      });
    });
    this.ready = this.#listening();
    this.ready.catch(() => {});
  }

  /** The end of the process; asking for it says that the test expects one. */
  get exited(): Promise<Exit> {
    this.#wantsExit = true;
    return this.#exit;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Both streams, for messages. */
  output(): string {
    return `--- stdout\n${this.#stdout}--- stderr\n${this.#stderr}`;
  }

  /** Every whole line of stdout that is a JSON object, ours and the app's. */
  logs(): LogLine[] {
    return this.#stdout
      .slice(0, this.#stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .flatMap((line) => {
        if (!line.startsWith('{')) return [];
        try {
          return [JSON.parse(line) as LogLine];
        } catch {
          return [];
        }
      });
  }

  /** Waits for a log line that the function accepts, also one that is there already. */
  waitForLog(accepts: (line: LogLine) => boolean, what: string, ms?: number): Promise<LogLine> {
    return this.#waitFor(() => this.logs().find(accepts), `the log line ${what}`, ms);
  }

  /** Waits for a text on stdout or stderr. */
  async waitForOutput(text: string | RegExp, ms?: number): Promise<void> {
    const has = () => (typeof text === 'string' ? this.output().includes(text) : text.test(this.output()));
    await this.#waitFor(() => has() || undefined, `the output ${text}`, ms);
  }

  /** Process id of our Node process (in the image: seen from the host). */
  pid(): number {
    this.#pid ??= this.#container === undefined ? this.child.pid! : pidInContainer(this.#container);
    return this.#pid;
  }

  /** Resident memory of our process in bytes. */
  residentBytes(): number {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid()}/status`, 'utf8'));
    return Number(line![1]) * 1024;
  }

  /** The most that it ever was. */
  peakResidentBytes(): number {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid()}/status`, 'utf8'));
    return Number(line![1]) * 1024;
  }

  /** File descriptors that our process has open: sockets, most of all. */
  openFiles(): number {
    return readdirSync(`/proc/${this.pid()}/fd`).length;
  }

  /** Processes that this run left behind or still has, ours not counted: by the mark in their environment. */
  otherProcesses(): number[] {
    return markedProcesses(`${MARK}=${this.#mark}`).filter((pid) => pid !== this.child.pid);
  }

  /** Sends the signal and waits for the end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = 15_000): Promise<Exit> {
    const { exited } = this;
    if (!this.#hasExited) this.child.kill(signal);
    return withTimeout(exited, () => `the end after ${signal}\n${this.output()}`, ms);
  }

  /** Runs after the test: fails when the process died unasked, and when a process outlived it. */
  async cleanUp(): Promise<void> {
    const diedEarly = this.#hasExited && !this.#wantsExit;
    if (!this.#hasExited) {
      this.child.kill('SIGTERM');
      const again = setTimeout(() => this.child.kill('SIGTERM'), SECOND_SIGNAL_AFTER_MS);
      const hard = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
      await this.#exit;
      clearTimeout(again);
      clearTimeout(hard);
    }
    // Fails when `--rm` is removing the container at this moment.
    if (this.#container) spawnSync('docker', ['rm', '-f', this.#container], { stdio: 'ignore' });
    const orphans = this.otherProcesses();
    for (const pid of orphans) process.kill(pid, 'SIGKILL');
    if (diedEarly) throw new Error(`uwsrp ended before the test did: ${await this.#ending()}`);
    if (orphans.length > 0) throw new Error(`uwsrp left processes behind: ${orphans.join(', ')}\n${this.output()}`);
  }

  async #listening(): Promise<void> {
    const isListening = (line: LogLine) => typeof line.port === 'number' && /^(listening|ready)\b/.test(line.msg ?? '');
    const line = await this.waitForLog(isListening, 'that says the port is open', 30_000);
    this.port = line.port as number;
  }

  async #ending(): Promise<string> {
    const { code, signal } = await this.#exit;
    return `code ${code}, signal ${signal}\n${this.output()}`;
  }

  async #waitFor<T>(find: () => T | undefined, what: string, ms = 5000): Promise<T> {
    const deadline = Date.now() + ms;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#hasExited) throw new Error(`uwsrp ended before ${what}: ${await this.#ending()}`);
      const news = new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      await withTimeout(news, () => `${what}\n${this.output()}`, Math.max(1, deadline - Date.now()));
    }
  }

  #announce(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Starts uwsrp without waiting for it: for boots that fail or take long. It is stopped after the test. */
export function spawnUwsrp(t: TestContext, options: UwsrpOptions): Uwsrp {
  const uwsrp = new Uwsrp(options);
  t.after(() => uwsrp.cleanUp());
  return uwsrp;
}

/** Starts uwsrp and waits until its port is open. */
export async function startUwsrp(t: TestContext, options: UwsrpOptions): Promise<Uwsrp> {
  const uwsrp = spawnUwsrp(t, options);
  await uwsrp.ready;
  return uwsrp;
}

function isServedByTest({ appPort, appSocket }: UwsrpOptions): boolean {
  return appPort !== undefined || appSocket !== undefined;
}

function appVariables({ appPort, appSocket }: UwsrpOptions): Record<string, string> {
  return {
    ...(appPort === undefined ? {} : { UWSRP_APP_PORT: String(appPort) }),
    ...(appSocket === undefined ? {} : { UWSRP_APP_SOCKET: appSocket }),
  };
}

/** The init process of the container is tini; its only child is ours. */
function pidInContainer(container: string): number {
  const init = execFileSync('docker', ['inspect', '-f', '{{.State.Pid}}', container], { encoding: 'utf8' }).trim();
  return Number(readFileSync(`/proc/${init}/task/${init}/children`, 'utf8').split(' ')[0]);
}

/** The repository is mounted at its own path so that fixtures run unchanged; /tmp too, for unix sockets and files. */
function dockerArguments(name: string, env: Record<string, string>, cwd: string, args: readonly string[]): string[] {
  const variables = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
  const mounts = ['-v', `${repositoryRoot}:${repositoryRoot}:ro`, '-v', '/tmp:/tmp'];
  return ['run', '--rm', '--name', name, '--network', 'host', ...mounts, '-w', cwd, ...variables, IMAGE, ...args];
}
