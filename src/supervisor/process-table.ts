import { readdirSync, readFileSync } from 'node:fs';

/** One row of the process table, from `/proc/<pid>/stat`. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Start time in clock ticks since boot: with the pid it names a process for good. */
  readonly startTicks: number;
  /** Ended, but not yet waited for by its parent. */
  readonly isZombie: boolean;
}

/** The entry of one process; undefined when it is gone, or where there is no /proc (anything but Linux). */
export function readProcess(pid: number): ProcessEntry | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the name in parentheses, and may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return {
    pid,
    parentPid: field(4),
    groupId: field(5),
    startTicks: field(22),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}

/** All processes that can be seen; empty where there is no /proc. */
export function listProcesses(): ProcessEntry[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name)).flatMap((name) => readProcess(Number(name)) ?? []);
}

/** Whether `pid` is `ancestor` or one of its living descendants, within the given processes. */
export function descendsFrom(pid: number, ancestor: number, processes: ReadonlyMap<number, ProcessEntry>): boolean {
  for (let at = processes.get(pid); at !== undefined; at = processes.get(at.parentPid)) {
    if (at.pid === ancestor) return true;
    if (at.pid === at.parentPid) return false;
  }
  return false;
}
