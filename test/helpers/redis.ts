import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { lastingPort } from './lasting-port.ts';
import { withTimeout } from './timeout.ts';

/** Debian's redis-server on a port of its own, without any file. It can be stopped and started again. */
export class TestRedis {
  readonly port: number;
  readonly #words: readonly string[];
  #server: ChildProcess | undefined;

  constructor(port: number, words: readonly string[]) {
    this.port = port;
    this.#words = words;
  }

  url(rest = ''): string {
    return `redis://127.0.0.1:${this.port}${rest}`;
  }

  async start(): Promise<void> {
    const words = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const server = spawn('redis-server', [...words, ...this.#words], {
      cwd: '/tmp',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#server = server;
    let output = '';
    const ready = new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${output}`)));
      server.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('Ready to accept connections')) resolve();
      });
    });
    await withTimeout(ready, () => `Redis: ${output}`);
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }
}

/** Starts a Redis that is stopped after the test. */
export async function startRedis(t: TestContext, words: readonly string[] = []): Promise<TestRedis> {
  const redis = new TestRedis(await lastingPort(), words);
  t.after(() => redis.stop());
  await redis.start();
  return redis;
}
