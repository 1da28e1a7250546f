import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sequences } from '../../../src/native/sequences.ts';

test('each sender is counted for itself, from where it was first heard', () => {
  const sequences = new Sequences();
  assert.equal(sequences.accept('a', 7), 0);
  assert.equal(sequences.accept('b', 1), 0);
  assert.equal(sequences.accept('a', 8), 0);
  assert.equal(sequences.accept('a', 12), 3);
  assert.equal(sequences.accept('b', 2), 0);
});

test('what comes again, or late, is dropped', () => {
  const sequences = new Sequences();
  sequences.accept('a', 5);
  assert.equal(sequences.accept('a', 5), undefined);
  assert.equal(sequences.accept('a', 4), undefined);
  assert.equal(sequences.accept('a', 6), 0);
});

test('the sender that was silent longest is forgotten, beyond a thousand', () => {
  const sequences = new Sequences();
  sequences.accept('old', 1);
  sequences.accept('older', 1);
  sequences.accept('old', 2);
  for (let index = 0; index < 999; index += 1) sequences.accept(`new-${index}`, 1);
  assert.equal(sequences.accept('old', 2), undefined, 'still known');
  assert.equal(sequences.accept('older', 9), 0, 'as if never heard');
});
