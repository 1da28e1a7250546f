// What a run has started or made is registered here the moment it exists, so that whatever ends the run (its end, a
// failure, Ctrl-C) takes all of it away.
const pending = new Set();
let signalled = false;

/** Registers an ending; gives back one that runs it once, whoever calls first. */
export function onEnd(end) {
  let ended;
  const once = () => {
    ended ??= Promise.resolve()
      .then(end)
      .finally(() => pending.delete(once));
    return ended;
  };
  pending.add(once);
  return once;
}

/** Ends all that is still there, the newest first. A failure of one does not keep the others alive. */
export async function endAll() {
  while (pending.size > 0) {
    const newest = [...pending].at(-1);
    await newest().catch((error) => console.error(`bench: while ending: ${error.message}`));
  }
}

/** True from Ctrl-C on: what fails then fails because it was ended. */
export const isEnding = () => signalled;

/**
 * Ctrl-C and a closed terminal end what runs, then the run. Later signals change nothing: npm hands on the one that the
 * terminal has sent already, and a run that dies in its clean-up leaves processes behind.
 */
export function endOnSignals() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]) {
    process.on(signal, () => {
      if (signalled) return;
      signalled = true;
      endAll().then(() => process.exit(code));
    });
  }
}
