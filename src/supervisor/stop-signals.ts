export interface SignalHandlers {
  /** The first SIGTERM or SIGINT. */
  readonly onStop: (signal: NodeJS.Signals) => void;
  /** One that came more than a second later: end everything now. */
  readonly onKill: (signal: NodeJS.Signals) => void;
  /** SIGHUP, for logs to be reopened; it is passed on as well. */
  readonly onHangup: () => void;
  /** A signal that means something to the command only. */
  readonly passOn: (signal: NodeJS.Signals) => void;
}

interface SignalSource {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/** Where every process is signalled at once, tini passes on what uwsrp also got directly. */
const SAME_STOP_MS = 1000;

/** A terminal sends these to every process of its foreground group, so that a command in ours has got them already. */
export const TERMINAL_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGWINCH'];

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** With a listener on SIGUSR1 Node does not open its debugger on it. */
const PASSED_ON = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH'] as const;

/**
 * Listens to the signals of the platform and the operator (design section 4). SIGTERM and SIGINT are the same stop
 * (Fly sends SIGINT). Returns a function that stops listening.
 */
export function watchSignals(
  handlers: SignalHandlers,
  source: SignalSource = process,
  now: () => number = () => performance.now(),
): () => void {
  let stoppedAtMs: number | undefined;

  const stop = (signal: NodeJS.Signals) => {
    if (stoppedAtMs === undefined) {
      stoppedAtMs = now();
      handlers.onStop(signal);
    } else if (now() - stoppedAtMs > SAME_STOP_MS) {
      handlers.onKill(signal);
    }
  };
  const passOn = (signal: NodeJS.Signals) => {
    if (signal === 'SIGHUP') handlers.onHangup();
    handlers.passOn(signal);
  };

  for (const signal of STOP_SIGNALS) source.on(signal, stop);
  for (const signal of PASSED_ON) source.on(signal, passOn);
  return () => {
    for (const signal of STOP_SIGNALS) source.off(signal, stop);
    for (const signal of PASSED_ON) source.off(signal, passOn);
  };
}
