import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wrapText } from '../../../src/lib/wrap-text.ts';

test('text is broken at blanks, and never inside a word', () => {
  assert.deepEqual(wrapText('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapText('  one\n two ', 20), ['one two']);
  assert.deepEqual(wrapText('a incomprehensibilities b', 5), ['a', 'incomprehensibilities', 'b']);
  assert.deepEqual(wrapText('', 5), []);
});
