/**
 * Waits for `promise` no longer than `ms` and then fails with what was waited for. The timer is cleared as soon as the
 * promise settles, so it never keeps a finished test alive.
 */
export async function withTimeout<T>(promise: Promise<T>, what: string | (() => string), ms = 5000): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`waited ${ms} ms in vain for ${typeof what === 'string' ? what : what()}`));
    }, ms);
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
