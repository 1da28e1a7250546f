import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpareMemory } from '../../../src/upstream/spare-memory.ts';

const KIB = 1024;

test('what was given back is used for the next one of about that size', () => {
  const spare = new SpareMemory();
  const first = spare.take(100 * KIB);
  spare.giveBack(first);
  assert.equal(spare.take(60 * KIB), first);
  assert.notEqual(spare.take(60 * KIB), first);
});

test('nothing small holds on to much memory, and nothing large gets too little', () => {
  const spare = new SpareMemory();
  spare.giveBack(spare.take(100 * KIB));
  assert.equal(spare.take(10 * KIB).length, 10 * KIB);
  assert.equal(spare.take(200 * KIB).length, 200 * KIB);
});

test('neither small nor very large memory is kept', () => {
  for (const size of [KIB, 1024 * KIB]) {
    const spare = new SpareMemory();
    const memory = spare.take(size);
    spare.giveBack(memory);
    assert.notEqual(spare.take(size), memory);
  }
});
