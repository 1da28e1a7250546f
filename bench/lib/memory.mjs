// Memory of the proxy's processes. What the kernel holds for sockets is not in it; that is the same for all.
import { residentBytes, withPeak } from './processes.mjs';

const MEGABYTE = 1024 * 1024;

/** Without a ratio: how many times next to nothing it is tells nothing. */
export const MEMORY_GROWTH = { key: 'growth', label: 'MB RSS growth', hasNoRatio: true };

/** Adds to a round's measures how far memory rose above what the proxy had before the scenario's first load. */
export async function withGrowth(proxy, round) {
  const { result, peak } = await withPeak(proxy.pids, round);
  return { ...result, growth: Math.max(0, peak - proxy.idleBytes) / MEGABYTE };
}

/** Memory at rest: looked at until it has not risen for half a second. */
export async function settledBytes(pids) {
  let highest = residentBytes(pids);
  for (let quiet = 0; quiet < 5; quiet += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const bytes = residentBytes(pids);
    if (bytes > highest) quiet = 0;
    highest = Math.max(highest, bytes);
  }
  return highest;
}
