import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thrownText } from '../../../src/lib/thrown-text.ts';

test('an Error is told by its stack, and what is none as it looks', () => {
  const error = new Error('of the test');
  assert.equal(thrownText(error), error.stack);
  const cases: [unknown, string][] = [
    ['text', 'text'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('s'), 'Symbol(s)'],
    [{ code: 5 }, '{ code: 5 }'],
    [Object.create(null), '[Object: null prototype] {}'],
  ];
  for (const [thrown, text] of cases) assert.equal(thrownText(thrown), text);
});

test('what cannot be shown ends nothing', () => {
  const trap = () => {
    throw new Error('trap');
  };
  const error = Object.defineProperty(new Error('x'), 'stack', { get: trap });
  for (const thrown of [error, new Proxy({}, { get: trap, getPrototypeOf: trap })]) {
    assert.match(thrownText(thrown), /cannot be shown|\{\}/);
  }
});
