export interface StopTimes {
  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
}

export interface AskedStopTimes {
  readonly shutdownTimeoutMs: number;
  readonly drainDelayMs: number;
  /** Whether the user asked for this delay; a platform's default gives way to what he did ask for. */
  readonly isDrainDelaySet: boolean;
  readonly drainTimeoutMs: number | undefined;
}

/**
 * Fits the drain delay and the drain timeout into the shutdown timeout; undefined when what the user set does not fit.
 * What he did not set shrinks so that some of the shutdown timeout is always left for the app's own stop: the delay to
 * a fifth of it (half of what a given drain timeout leaves), the drain timeout to 40 % of it (half of what the delay
 * leaves).
 */
export function tryFitStopTimes(asked: AskedStopTimes): StopTimes | undefined {
  const { shutdownTimeoutMs: shutdown, drainTimeoutMs: timeout } = asked;
  const mostDelay = timeout === undefined ? shutdown / 5 : Math.max(0, shutdown - timeout) / 2;
  const delay = asked.isDrainDelaySet ? asked.drainDelayMs : Math.min(asked.drainDelayMs, Math.floor(mostDelay));
  if (delay + (timeout ?? 0) >= shutdown) return undefined;
  return {
    drainDelayMs: delay,
    drainTimeoutMs: timeout ?? Math.floor(Math.min(shutdown * 0.4, (shutdown - delay) / 2)),
  };
}
