// CPU and memory of processes as the kernel counts them, and their place on the cores.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** User and system time of the processes with all their threads, in microseconds. */
export function cpuMicros(pids) {
  let ticks = 0;
  for (const pid of pids) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return (ticks * 1e6) / TICKS_PER_SECOND;
}

/** Resident memory of the processes together, in bytes. */
export const residentBytes = (pids) => statusBytes(pids, /^VmRSS:\s+(\d+)/m);

/** What of it is no page of a file: all but programs and libraries, which processes share and the kernel can drop. */
export const anonymousBytes = (pids) => statusBytes(pids, /^RssAnon:\s+(\d+)/m);

function statusBytes(pids, kilobytes) {
  let sum = 0;
  for (const pid of pids) sum += Number(kilobytes.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
  return sum * 1024;
}

/** Calls `work` and gives back the highest resident memory seen meanwhile, in bytes, beside its result. */
export async function withPeak(pids, work) {
  let peak = residentBytes(pids);
  const look = () => {
    peak = Math.max(peak, residentBytes(pids));
  };
  const timer = setInterval(look, 20);
  try {
    const result = await work();
    look();
    return { result, peak };
  } finally {
    clearInterval(timer);
  }
}

/** Process ids of the children of a process, in the order they were made. */
export function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** Binds a process with all its threads to cores, named as taskset does. */
export function pin(pid, cores) {
  const { status, stderr } = spawnSync('taskset', ['-a', '-p', '-c', cores, String(pid)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`taskset: ${stderr}`);
}
