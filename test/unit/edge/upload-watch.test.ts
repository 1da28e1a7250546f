import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UploadWatch } from '../../../src/edge/upload-watch.ts';

test('uploads are swept each second, all by one timer that runs while there are any', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const watch = new UploadWatch({ maxBodyBytes: 0, uploadIdleTimeoutMs: 1234 });
  const swept: string[] = [];
  const upload = (name: string) => ({
    sweep: (now: number, idleTimeoutMs: number) => {
      assert.ok(now > 0);
      assert.equal(idleTimeoutMs, 1234);
      swept.push(name);
    },
  });
  const [a, b] = [upload('a'), upload('b')];
  const start = t.mock.method(globalThis, 'setInterval');

  watch.add(a);
  watch.add(b);
  watch.add(b);
  assert.equal(start.mock.callCount(), 1);
  t.mock.timers.tick(2000);
  assert.deepEqual(swept.splice(0), ['a', 'b', 'a', 'b']);

  watch.delete(a);
  t.mock.timers.tick(1000);
  assert.deepEqual(swept.splice(0), ['b']);

  watch.delete(b);
  t.mock.timers.tick(5000);
  assert.deepEqual(swept, []);
  watch.add(a);
  assert.equal(start.mock.callCount(), 2);
});

test('no limit is an infinite one', () => {
  assert.equal(new UploadWatch({ maxBodyBytes: 0, uploadIdleTimeoutMs: 1 }).maxBodyBytes, Number.POSITIVE_INFINITY);
  assert.equal(new UploadWatch({ maxBodyBytes: 5, uploadIdleTimeoutMs: 1 }).maxBodyBytes, 5);
});
