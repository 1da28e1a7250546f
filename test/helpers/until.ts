/**
 * Waits for what sends no event (the state of another process): looks until it is so, and fails with `what` after `ms`.
 */
export async function until(isSo: () => boolean | Promise<boolean>, what: string, ms = 5000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
