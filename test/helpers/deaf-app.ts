import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

/**
 * An app that listens, and answers no connect after its first: as one does that hangs, once its queue of connections
 * is full. The first is what readiness asks for.
 */
export async function startDeafApp(t: TestContext): Promise<{ port: number }> {
  const child = spawn('python3', [inRepository('test', 'fixtures', 'apps', 'deaf.py')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await withTimeout(once(child.stdout, 'data'), 'the port of deaf.py');
  return { port: Number(String(line)) };
}
