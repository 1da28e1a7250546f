import { readFileSync } from 'node:fs';
import { UwsrpError } from '../lib/errors.ts';
import type { AppAddress } from './app-address.ts';
import { listenersOf } from './listening-ports.ts';
import { listProcesses } from './process-table.ts';

/** Another process listens on the port that we chose for the command. */
export class PortLost extends UwsrpError {
  constructor(port: number, pid: number, name: string) {
    super(
      'APP_NOT_READY',
      `port ${port}, which was free for the command, was taken by process ${pid} (${name}): set UWSRP_APP_PORT to a port that nobody uses`,
    );
  }
}

/**
 * Looks whether a stranger listens on a port of our choice, where the command does not seem to; undefined when nobody
 * that can be seen does. A process is no stranger when its environment holds `PORT=<port>`, which only we have given
 * out: a server that the command put into the background is known by that.
 */
export function findLostPort(address: AppAddress, variable: string): PortLost | undefined {
  if (!address.isOurChoice || address.port === undefined) return undefined;
  const pids = listProcesses().map((entry) => entry.pid);
  const [listener] = listenersOf(pids, address.port);
  if (listener === undefined) return undefined;
  const isStranger = !read(listener.pid, 'environ').split('\0').includes(`${variable}=${address.value}`);
  return isStranger ? new PortLost(address.port, listener.pid, read(listener.pid, 'comm').trim()) : undefined;
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
