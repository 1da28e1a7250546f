import { readFileSync } from 'node:fs';
import { listenersOf } from './listening-ports.ts';
import { listProcesses } from './process-table.ts';

/** A process that is not the command's, and listens on the command's port. */
export interface ForeignListener {
  readonly pid: number;
  readonly name: string;
}

/**
 * Looks up who else listens on a private port; undefined when nobody that can be seen does. A process is no stranger
 * when its environment holds `marker` (`PORT=43211`), which only we have given out: a server that the command put into
 * the background is known by that.
 */
export function findForeignListener(port: number, marker: string): ForeignListener | undefined {
  const [listener] = listenersOf(
    listProcesses().map((entry) => entry.pid),
    port,
  );
  if (listener === undefined || read(listener.pid, 'environ').split('\0').includes(marker)) return undefined;
  return { pid: listener.pid, name: read(listener.pid, 'comm').trim() };
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
