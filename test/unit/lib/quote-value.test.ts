import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoteValue } from '../../../src/lib/quote-value.ts';

test('a value is quoted on one line and cut when it is long', () => {
  assert.equal(quoteValue('12abc'), '"12abc"');
  assert.equal(quoteValue('a\nb"\u001b[31m'), '"a\\nb\\"\\u001b[31m"');
  assert.equal(quoteValue('x'.repeat(80)), `"${'x'.repeat(80)}"`);
  assert.equal(quoteValue('x'.repeat(81)), `"${'x'.repeat(80)}…"`);
});
