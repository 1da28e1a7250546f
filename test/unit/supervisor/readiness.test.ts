import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamTarget } from '../../../src/lib/upstream-target.ts';
import type { ProbeResult } from '../../../src/supervisor/probe.ts';
import { type Clock, type ReadinessOptions, waitUntilReady } from '../../../src/supervisor/readiness.ts';

const TARGET: UpstreamTarget = { kind: 'tcp', host: '127.0.0.1', port: 3000 };
const READY: ProbeResult = { isReady: true, target: TARGET };
const REFUSED: ProbeResult = { isReady: false, reason: 'connection refused', isCutShort: false };

/** A clock that jumps over every wait, and remembers it. */
class JumpingClock implements Clock {
  time = 1000;
  readonly waits: number[] = [];

  now(): number {
    return this.time;
  }

  async sleep(ms: number): Promise<void> {
    this.waits.push(ms);
    this.time += ms;
  }
}

function wait(options: Partial<ReadinessOptions>): Promise<UpstreamTarget> {
  return waitUntilReady({
    probe: async () => REFUSED,
    timeoutMs: 0,
    signal: new AbortController().signal,
    onSlow: () => {},
    clock: new JumpingClock(),
    ...options,
  });
}

/** A probe that refuses `times` times. */
function readyAfter(times: number) {
  let left = times;
  return async () => {
    left -= 1;
    return left < 0 ? READY : REFUSED;
  };
}

test('probes after 5 ms first and then ever slower, but each 100 ms at least', async () => {
  const clock = new JumpingClock();
  assert.equal(await wait({ probe: readyAfter(40), clock }), TARGET);
  assert.equal(clock.waits[0], 5);
  assert.ok(clock.waits[1]! > 5 && clock.waits[1]! < 10);
  assert.equal(clock.waits.at(-1), 100);
  assert.deepEqual(
    clock.waits,
    clock.waits.toSorted((a, b) => a - b),
  );
});

test('gives up after the timeout with the last reason and the explanation', async () => {
  const clock = new JumpingClock();
  await assert.rejects(wait({ timeoutMs: 30_000, explain: () => 'it listens on 3000', clock }), {
    code: 'APP_NOT_READY',
    message: 'the command was not ready within 30s (UWSRP_READY_TIMEOUT): connection refused; it listens on 3000',
  });
  assert.ok(clock.time - 1000 >= 30_000 && clock.time - 1000 < 30_200);
});

test('no probe may take longer than 5 s, or than what is left', async () => {
  const limits: number[] = [];
  const clock = new JumpingClock();
  const probe = async (limitMs: number) => {
    limits.push(limitMs);
    clock.time += limitMs;
    return REFUSED;
  };
  await assert.rejects(wait({ probe, timeoutMs: 12_000, clock }), { code: 'APP_NOT_READY' });
  assert.deepEqual(limits.slice(0, 2), [5000, 5000]);
  assert.ok(limits[2]! < 2000);
  assert.equal(limits.length, 3);
});

test('a last try that the end of the time cut short does not hide the reason before it', async () => {
  const clock = new JumpingClock();
  const probe = async (limitMs: number): Promise<ProbeResult> => {
    if (limitMs > 100) return { isReady: false, reason: 'GET /up answered 503', isCutShort: false };
    clock.time += limitMs;
    return { isReady: false, reason: 'no answer', isCutShort: true };
  };
  await assert.rejects(wait({ probe, timeoutMs: 1000, clock }), { message: /: GET \/up answered 503$/ });
});

test('tells each 15 s why it still waits, and waits for ever with a timeout of 0', async () => {
  const told: string[] = [];
  const onSlow = (waitedMs: number, reason: string) => told.push(`${Math.floor(waitedMs / 1000)} s: ${reason}`);
  await wait({ probe: readyAfter(480), onSlow, explain: () => undefined });
  assert.deepEqual(told, ['15 s: connection refused', '30 s: connection refused', '45 s: connection refused']);
});

test('the signal ends the waiting with its reason, between probes and in one', async () => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  const probe = async () => {
    stop.abort(reason);
    return READY;
  };
  await assert.rejects(wait({ probe, signal: stop.signal }), reason);

  const never = new AbortController();
  const waiting = waitUntilReady({ probe: async () => REFUSED, timeoutMs: 0, signal: never.signal, onSlow: () => {} });
  never.abort(reason);
  await assert.rejects(waiting, reason);
});
