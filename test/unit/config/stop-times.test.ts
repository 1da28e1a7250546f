import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryFitStopTimes } from '../../../src/config/stop-times.ts';

function fit(shutdownTimeoutMs: number, delay: { set?: number; fallback?: number }, drainTimeoutMs?: number) {
  return tryFitStopTimes({
    shutdownTimeoutMs,
    drainDelayMs: delay.set ?? delay.fallback ?? 0,
    isDrainDelaySet: delay.set !== undefined,
    drainTimeoutMs,
  });
}

test('by default the drain timeout is 40 % of the shutdown timeout', () => {
  assert.deepEqual(fit(9000, {}), { drainDelayMs: 0, drainTimeoutMs: 3600 });
  assert.deepEqual(fit(25_000, { fallback: 5000 }), { drainDelayMs: 5000, drainTimeoutMs: 10_000 });
});

test('what was set is kept when it fits', () => {
  assert.deepEqual(fit(9000, { set: 2000 }, 5000), { drainDelayMs: 2000, drainTimeoutMs: 5000 });
  assert.deepEqual(fit(9000, { set: 8000 }), { drainDelayMs: 8000, drainTimeoutMs: 500 });
  assert.deepEqual(fit(9000, { set: 0 }, 0), { drainDelayMs: 0, drainTimeoutMs: 0 });
});

test("a platform's delay gives way to what was set", () => {
  assert.deepEqual(fit(10_000, { fallback: 5000 }), { drainDelayMs: 2000, drainTimeoutMs: 4000 });
  assert.deepEqual(fit(25_000, { fallback: 5000 }, 22_000), { drainDelayMs: 1500, drainTimeoutMs: 22_000 });
});

test('what was set does not fit when it leaves nothing of the shutdown timeout', () => {
  assert.equal(fit(9000, { set: 4000 }, 5000), undefined);
  assert.equal(fit(9000, { set: 9000 }), undefined);
  assert.equal(fit(9000, {}, 9000), undefined);
  assert.equal(fit(9000, { fallback: 5000 }, 30_000), undefined);
});
