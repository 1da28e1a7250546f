// Containers of the product's image, on the host's network, measured by the ids their processes have on the host.
import { spawnSync } from 'node:child_process';
import { onEnd } from './cleanup.mjs';
import { untilOpen } from './ports.mjs';
import { childrenOf, pin } from './processes.mjs';

const START_MS = 30_000;
let started = 0;

/** Runs the docker client; gives back what it printed, or throws what it complained of. */
export function docker(...args) {
  const { status, stdout, stderr, error } = spawnSync('docker', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`docker ${args[0]}: ${(stderr || error?.message || '').trim()}`);
  return stdout.trim();
}

/** Starts a container without waiting for it; gives back `{ name, rootPid, stop }`. */
export function runContainer({ image, entrypoint, args = [], env = {}, mounts = [] }) {
  started += 1;
  const name = `uwsrp-bench-${process.pid}-${started}`;
  const stop = onEnd(() => void docker('rm', '--force', name));
  try {
    docker(
      ...['run', '--detach', '--network', 'host', '--ulimit', 'nofile=20000:20000', '--name', name],
      ...(entrypoint === undefined ? [] : ['--entrypoint', entrypoint]),
      ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
      ...mounts.flatMap((path) => ['--volume', `${path}:${path}`]),
      ...[image, ...args],
    );
  } catch (error) {
    stop();
    throw error;
  }
  const rootPid = () => Number(docker('inspect', '--format', '{{.State.Pid}}', name));
  return { name, rootPid, stop };
}

/** Starts a container bound to `cores` and waits until `opens` accepts; resolves with `{ rootPid, pids, stop }`. */
export async function startContainer({ opens, cores, ...settings }) {
  const { name, rootPid, stop } = runContainer(settings);
  const check = () => {
    if (docker('inspect', '--format', '{{.State.Running}}', name) === 'true') return;
    throw new Error(`the container has ended: ${docker('logs', '--tail', '20', name)}`);
  };
  await untilOpen(opens, { check, withinMs: START_MS, everyMs: 50 });
  const root = rootPid();
  const pids = [root, ...descendantsOf(root)];
  for (const pid of pids) pin(pid, cores);
  return { rootPid: root, pids, stop };
}

function descendantsOf(pid) {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}
