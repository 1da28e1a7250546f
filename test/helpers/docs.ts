import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from './http.ts';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

export interface Snippet {
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a page of docs/, in order. */
export function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(inRepository('docs', page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, inner]) => ({
    language: language!,
    text: inner!,
  }));
}

/** The texts of one language, in order. */
export function snippetsIn(page: string, language: string): string[] {
  return snippetsOf(page)
    .filter((snippet) => snippet.language === language)
    .map(({ text }) => text);
}

/** Runs a shell snippet that ends in a server on this port of 127.0.0.1; it has got SIGTERM when the test ends. */
export async function startSnippet(t: TestContext, script: string, cwd: string, port: number): Promise<void> {
  const shell = spawn('bash', ['-ec', script], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = outputOf(shell);
  const ended = once(shell, 'close');
  t.after(async () => {
    // The whole group, as Ctrl-C in a terminal.
    if (shell.exitCode === null) process.kill(-shell.pid!, 'SIGTERM');
    await withTimeout(ended, () => `the snippet to end: ${script}\n${output()}`, 20_000);
  });
  for (const deadline = Date.now() + 120_000; ; await delay(20)) {
    if (shell.exitCode !== null) throw new Error(`the snippet ended with ${shell.exitCode}: ${script}\n${output()}`);
    if (await request(port).catch(() => undefined)) return;
    if (Date.now() > deadline) throw new Error(`nothing answers on ${port}: ${script}\n${output()}`);
  }
}

/** Runs a shell snippet to its end and gives its stdout; fails when it fails. */
export async function runSnippet(script: string, cwd: string): Promise<string> {
  const shell = spawn('bash', ['-ec', script], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const output = outputOf(shell);
  const [code] = (await withTimeout(once(shell, 'close'), () => `the end of: ${script}`, 120_000)) as [number | null];
  if (code !== 0) throw new Error(`the snippet ended with ${code}: ${script}\n${output()}`);
  return stdout;
}

/** A port that nobody has at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function outputOf(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => (output += text));
  return () => output;
}
