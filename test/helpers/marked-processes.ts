import { readdirSync, readFileSync } from 'node:fs';

/** Living processes whose environment holds `mark` (`NAME=value`): what a test started, and what that left behind. */
export function markedProcesses(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}
