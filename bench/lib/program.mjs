// Programs of a run: started on a core, known by process id, ended by process id.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onEnd } from './cleanup.mjs';
import { untilOpen } from './ports.mjs';

const STOP_MS = 12_000;
const START_MS = 20_000;

/**
 * Starts a program bound to `cores` (as taskset names them; none: the caller's) and waits until `opens`, a port or a
 * unix socket, accepts connections (it looks each `lookEveryMs`). Resolves with `{ pid, stop }`.
 */
export async function startProgram(command, args, { env = {}, cores, opens, lookEveryMs }) {
  const [file, ...rest] = cores === undefined ? [command, ...args] : ['taskset', '-c', cores, command, ...args];
  const child = spawn(file, rest, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...plainEnvironment(), ...env } });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said = (said + text).slice(-2000);
  });
  const failed = once(child, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const stop = onEnd(async () => {
    if (child.pid === undefined || !isAlive()) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(late);
  });
  const check = () => {
    if (!isAlive()) throw new Error(`${command} has ended: ${said || (child.signalCode ?? child.exitCode)}`);
  };
  await Promise.race([untilOpen(opens, { check, withinMs: START_MS, everyMs: lookEveryMs }), failed]);
  return { pid: child.pid, stop };
}

/** Nothing of the caller's settings reaches a program that is measured: no PORT, no UWSRP_*, no NODE_OPTIONS. */
export function plainEnvironment() {
  const { PATH, HOME } = process.env;
  return { PATH, HOME };
}
