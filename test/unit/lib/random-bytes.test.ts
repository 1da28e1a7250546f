import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomBytes } from '../../../src/lib/random-bytes.ts';

test('gives as many bytes as are asked for, and others each time', () => {
  for (const count of [1, 16, 4096, 100_000]) assert.equal(randomBytes(count).length, count);
  assert.notDeepEqual(randomBytes(16), randomBytes(16));
});

test('gives every byte of a long piece, not just the first ones', () => {
  assert.ok(
    randomBytes(4096)
      .subarray(-64)
      .some((byte) => byte !== 0),
  );
});
