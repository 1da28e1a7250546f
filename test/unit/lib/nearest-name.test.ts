import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearestName } from '../../../src/lib/nearest-name.ts';

test('the distance counts insertions, deletions, substitutions and swapped neighbours', () => {
  assert.equal(editDistance('', ''), 0);
  assert.equal(editDistance('PORT', 'PORT'), 0);
  assert.equal(editDistance('', 'PORT'), 4);
  assert.equal(editDistance('PORT', ''), 4);
  assert.equal(editDistance('PORTS', 'PORT'), 1);
  assert.equal(editDistance('PRT', 'PORT'), 1);
  assert.equal(editDistance('PART', 'PORT'), 1);
  assert.equal(editDistance('PROT', 'PORT'), 1);
  assert.equal(editDistance('kitten', 'sitting'), 3);
});

test('the nearest name is the one with the fewest edits, the first of equals', () => {
  assert.equal(nearestName('TRUSTPROXY', ['PORT', 'TRUST_PROXY', 'HOST']), 'TRUST_PROXY');
  assert.equal(nearestName('AB', ['AC', 'AD']), 'AC');
  assert.equal(nearestName('AB', []), undefined);
});
