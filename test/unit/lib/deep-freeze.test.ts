import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deepFreeze } from '../../../src/lib/deep-freeze.ts';

test('a value is frozen with everything in it', () => {
  const value = deepFreeze({ list: [{ from: 1 }], text: 'a', none: undefined, nothing: null });
  assert.throws(() => value.list.push({ from: 2 }), TypeError);
  assert.throws(() => {
    value.list[0]!.from = 2;
  }, TypeError);
  assert.throws(() => {
    value.text = 'b';
  }, TypeError);
});
