import { descendsFrom, listProcesses, type ProcessEntry, readProcess } from './process-table.ts';

/** The processes of the user's command, as far as they can be signalled together. */
export interface ProcessGroup {
  /** Sends a signal to every member; false when none is left or none may be signalled. */
  signal(name: NodeJS.Signals): boolean;
  /**
   * Asked when the leader has ended: true when no member lives any more. A zombie does not count, for only its parent
   * can end that.
   */
  isGone(): boolean;
  /** Members and descendants of the leader that can be seen in /proc, also those that went to a group of their own. */
  pids(): number[];
}

/** A group of its own, led by `leaderPid`: the kernel keeps the list. */
export function ownGroup(leaderPid: number): ProcessGroup {
  return {
    signal: (name) => send(-leaderPid, name),
    isGone() {
      try {
        process.kill(-leaderPid, 0);
      } catch (error) {
        // A member that may not be signalled (EPERM) is still there.
        return (error as NodeJS.ErrnoException).code !== 'EPERM';
      }
      // Zombies stay in the group until somebody waits for them. Without an init that does (uwsrp as PID 1, no tini)
      // that is for ever, so look closer where it is possible.
      const processes = listProcesses();
      return processes.length > 0 && !processes.some((entry) => entry.groupId === leaderPid && !entry.isZombie);
    },
    pids: () => membersAndDescendants(leaderPid, (entry) => entry.groupId === leaderPid),
  };
}

/**
 * The command within the process group of uwsrp itself, as it must be when it shall read from the terminal. That group
 * may also hold whoever started uwsrp (npm, make) and what else they started, so the command's part is picked out:
 * the descendants of its leader, and the orphans that were started after the leader. Where there is no /proc it is the
 * leader alone.
 */
export function sharedGroup(leaderPid: number): ProcessGroup {
  const leader = readProcess(leaderPid);

  function members(): number[] {
    if (leader === undefined) return [leaderPid];
    const inGroup = new Map(
      listProcesses()
        .filter((entry) => entry.groupId === leader.groupId && entry.pid !== process.pid)
        .map((entry) => [entry.pid, entry]),
    );
    const isOurs = (pid: number) => {
      for (let at = inGroup.get(pid); at !== undefined; at = inGroup.get(at.parentPid)) {
        if (at.pid === leaderPid) return true;
        if (at.startTicks < leader.startTicks || at.parentPid === process.pid) return false;
      }
      return true;
    };
    return [...inGroup.values()].filter((entry) => !entry.isZombie && isOurs(entry.pid)).map((entry) => entry.pid);
  }

  return {
    signal(name) {
      const sent = new Set<number>();
      // Once more while new ones appear: a member can fork while the list is read.
      for (let found = members(); found.some((pid) => !sent.has(pid)); found = members()) {
        for (const pid of found) {
          if (!sent.has(pid)) send(pid, name);
          sent.add(pid);
        }
      }
      return sent.size > 0;
    },
    // Without /proc the leader is all that is known, and this is asked only when it has ended.
    isGone: () => leader === undefined || members().length === 0,
    pids() {
      const known = new Set(members());
      return membersAndDescendants(leaderPid, (entry) => known.has(entry.pid));
    },
  };
}

function membersAndDescendants(leaderPid: number, isMember: (entry: ProcessEntry) => boolean): number[] {
  const processes = new Map(listProcesses().map((entry) => [entry.pid, entry]));
  return [...processes.values()]
    .filter((entry) => isMember(entry) || descendsFrom(entry.pid, leaderPid, processes))
    .map((entry) => entry.pid);
}

/** kill(2) that says whether somebody got the signal. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
