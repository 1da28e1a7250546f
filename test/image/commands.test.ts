import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { docker } from '../helpers/docker.ts';
import { request } from '../helpers/http.ts';
import { inRepository, repositoryRoot } from '../helpers/repository.ts';
import { withTimeout } from '../helpers/timeout.ts';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`npm start serves the demo, and ${signal} ends it without a trace`, async (t) => {
    const PORT = String(await freePort());
    const start = spawn('npm', ['start'], { cwd: repositoryRoot, env: { ...process.env, PORT } });
    t.after(() => docker('rm', '--force', `uwsrp-demo-${PORT}`));
    const ended = once(start, 'exit');
    await outputMatches(start, /listening on port 8080/);
    match((await request(Number(PORT))).text, /<html/);
    start.kill(signal);
    deepStrictEqual(await withTimeout(ended, 'npm start to end', 20_000), [0, null]);
    strictEqual((await docker('container', 'inspect', `uwsrp-demo-${PORT}`)).exitCode, 1);
  });
}

test('the set-up says nothing and changes nothing when all is there', async () => {
  const before = await docker('image', 'ls', '--no-trunc', '--format', '{{.Repository}}:{{.Tag}} {{.ID}}', 'uwsrp/*');
  const setup = spawn(inRepository('docker', 'setup'), ['--test'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [setup.stdout, setup.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  deepStrictEqual(await withTimeout(once(setup, 'close'), 'the set-up', 60_000), [0, null]);
  strictEqual(said, '');
  const after = await docker('image', 'ls', '--no-trunc', '--format', '{{.Repository}}:{{.Tag}} {{.ID}}', 'uwsrp/*');
  strictEqual(after.stdout, before.stdout);
});

async function outputMatches(child: ChildProcess, pattern: RegExp): Promise<void> {
  let said = '';
  const matched = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        if (pattern.test(said)) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`it ended: ${said}`)));
  });
  await withTimeout(matched, () => `${pattern} in: ${said}`, 60_000);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
