// What a run has started or made is registered here the moment it exists, so that whatever ends the run (its end, a
// failure, Ctrl-C) takes all of it away.
const pending = new Set();

/** Registers an ending; gives back one that runs it once, whoever calls first. */
export function onEnd(end) {
  let ended;
  const once = () => {
    pending.delete(once);
    ended ??= Promise.resolve(end());
    return ended;
  };
  pending.add(once);
  return once;
}

/** Ends all that is still there, the newest first. A failure of one does not keep the others alive. */
export async function endAll() {
  for (const end of [...pending].reverse()) {
    await end().catch((error) => console.error(`bench: while ending: ${error.message}`));
  }
}

/** Ctrl-C and a closed terminal end what runs, then the run. */
export function endOnSignals() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]) {
    process.once(signal, () => endAll().then(() => process.exit(code)));
  }
}
