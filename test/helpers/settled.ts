const INTERVAL_MS = 50;
const STILL_FOR = 12;

/**
 * Waits until a number no longer changes: for what stops by itself when the other side stops reading. It looks twelve
 * times at an interval, so a machine that stands still may end the wait too early, which makes no test fail.
 */
export async function settled(value: () => number): Promise<void> {
  let last = Number.NaN;
  for (let still = 0; still < STILL_FOR; still++) {
    if (value() !== last) still = 0;
    last = value();
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
