import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../lib/duration.ts';
import { UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';
import type { Probe } from './probe.ts';

/** Time, as the waiting needs it; a test sets its own. */
export interface Clock {
  /** Milliseconds that only grow. */
  now(): number;
  /** Ends early when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};

export interface ReadinessOptions {
  readonly probe: Probe;
  /** 0 means no limit. */
  readonly timeoutMs: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called every 15 s, with the last reason and the explanation if there is one. */
  readonly onSlow: (waitedMs: number, reason: string) => void;
  /** Why it may take so long, as a sentence with its remedy; looked up only when it is told. */
  readonly explain?: () => string | undefined;
  readonly clock?: Clock;
}

const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 100;
/** Adds up to waits of a tenth of the time so far: what is noticed late by the half of that is noticed soon enough. */
const WAIT_GROWTH = 1.1;
const PROBE_LIMIT_MS = 5000;
const HINT_EVERY_MS = 15_000;

/**
 * Probes until the command is ready, quickly at first (5 ms) and then every 100 ms.
 *
 * @throws UwsrpError APP_NOT_READY after the timeout, with the last reason; the signal's reason when that aborts.
 */
export async function waitUntilReady(options: ReadinessOptions): Promise<UpstreamTarget> {
  const { probe, timeoutMs, signal, onSlow, explain = () => undefined, clock = systemClock } = options;
  const startedMs = clock.now();
  let lastReason = '';

  let nextHintMs = HINT_EVERY_MS;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_GROWTH, LONGEST_WAIT_MS)) {
    await clock.sleep(waitMs, signal);
    signal.throwIfAborted();
    const leftMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs - (clock.now() - startedMs);
    const result = await probe(Math.max(1, Math.min(PROBE_LIMIT_MS, leftMs)), signal);
    signal.throwIfAborted();
    if (result.isReady) return result.target;

    // A try that only the end of the time cut short knows less than the one before it.
    if (!result.isCutShort || leftMs >= PROBE_LIMIT_MS || lastReason === '') lastReason = result.reason;
    const waitedMs = clock.now() - startedMs;
    const isOver = timeoutMs > 0 && waitedMs >= timeoutMs;
    if (!isOver && waitedMs < nextHintMs) continue;

    const reason = [lastReason, explain()].filter((part) => part !== undefined).join('; ');
    if (isOver) {
      throw new UwsrpError(
        'APP_NOT_READY',
        `the command was not ready within ${formatDuration(timeoutMs)} (UWSRP_READY_TIMEOUT): ${reason}`,
      );
    }
    onSlow(waitedMs, reason);
    nextHintMs += HINT_EVERY_MS;
  }
}
