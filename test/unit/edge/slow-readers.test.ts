import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slowReaders } from '../../../src/edge/slow-readers.ts';

test('a client that takes nothing is waited for again and again, and given up after a minute', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const told: string[] = [];
  const reader = (name: string, blockedForMs: number) => ({
    blockedSince: performance.now() - blockedForMs,
    keepWaiting: () => told.push(`${name} waits`),
    giveUp() {
      told.push(`${name} is given up`);
      slowReaders.delete(this);
    },
  });
  const young = reader('young', 0);
  slowReaders.add(young);
  slowReaders.add(reader('old', 60_000));
  t.mock.timers.tick(4000);
  assert.deepEqual(told, ['young waits', 'old is given up']);
  t.mock.timers.tick(4000);
  assert.deepEqual(told.slice(2), ['young waits']);
  slowReaders.delete(young);
  t.mock.timers.tick(8000);
  assert.equal(told.length, 3);

  slowReaders.add(young);
  t.mock.timers.tick(4000);
  assert.equal(told[3], 'young waits', 'the timer runs again');
  slowReaders.delete(young);
  t.mock.timers.tick(4000);
});
