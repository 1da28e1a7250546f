import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type CleanUp, docker } from './docker.ts';

const PREFIX = 'uwsrp-test-';

/** A network of its own for containers that find each other by their aliases, gone with them after the test. Gives its name. */
export async function startNetwork(t: CleanUp): Promise<string> {
  await sweep();
  const name = `${PREFIX}${process.pid}-${randomBytes(8).toString('hex')}`;
  const { exitCode, stderr } = await docker('network', 'create', name);
  if (exitCode !== 0) throw new Error(`docker network create failed: ${stderr}`);
  t.after(() => remove(name));
  return name;
}

async function remove(name: string): Promise<void> {
  const { stdout } = await docker('ps', '--all', '--quiet', '--filter', `network=${name}`);
  const ids = stdout.split('\n').filter(Boolean);
  // A network with a container in it stays.
  if (ids.length > 0) await docker('rm', '--force', '--volumes', ...ids);
  await docker('network', 'rm', name);
}

/** Removes what a test run left that was killed before it could clean up: an engine has room for few networks. */
async function sweep(): Promise<void> {
  const { stdout } = await docker('network', 'ls', '--filter', `name=${PREFIX}`, '--format', '{{.Name}}');
  const names = stdout.split('\n').filter(Boolean);
  const abandoned = names.filter((name) => !existsSync(`/proc/${Number.parseInt(name.slice(PREFIX.length), 10)}`));
  await Promise.all(abandoned.map(remove));
}
