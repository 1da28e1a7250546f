import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepAlivePolicy } from '../../../src/edge/keep-alive.ts';

const base = { keepAlive: 'auto', keepAliveMax: 1024, platform: undefined } as const;

test('auto keeps connections where the build can, and closes above the limit behind a pooling router', () => {
  const kept = { closesAlways: false, closesWhenFull: false, keepsIdle: true };
  assert.deepEqual(keepAlivePolicy(base, true), kept);
  assert.deepEqual(keepAlivePolicy({ ...base, platform: 'kubernetes' }, true), kept);
  assert.deepEqual(keepAlivePolicy({ ...base, platform: 'heroku' }, true), { ...kept, closesWhenFull: true });
});

test('auto closes after each answer behind a pooling router where the build cannot keep connections', () => {
  assert.equal(keepAlivePolicy({ ...base, platform: 'heroku' }, false).closesAlways, true);
  assert.equal(keepAlivePolicy({ ...base, platform: 'heroku', keepAliveMax: 0 }, true).closesAlways, true);
  assert.equal(keepAlivePolicy({ ...base, platform: 'dokku' }, false).closesAlways, false);
  assert.equal(keepAlivePolicy(base, false).closesAlways, false);
});

test('on never closes by itself, off always does, whatever the platform and the build', () => {
  for (const isPossible of [true, false]) {
    for (const platform of ['heroku', undefined] as const) {
      const on = keepAlivePolicy({ ...base, platform, keepAlive: 'on' }, isPossible);
      assert.deepEqual(on, { closesAlways: false, closesWhenFull: false, keepsIdle: isPossible });
      const off = keepAlivePolicy({ ...base, platform, keepAlive: 'off' }, isPossible);
      assert.deepEqual(off, { closesAlways: true, closesWhenFull: false, keepsIdle: false });
    }
  }
});
