import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryParseBoolean } from '../../../src/lib/boolean-text.ts';

test('a boolean has four spellings each, in any case', () => {
  for (const text of ['true', 'TRUE', '1', 'yes', 'Yes', 'on', 'ON']) assert.equal(tryParseBoolean(text), true, text);
  for (const text of ['false', 'FALSE', '0', 'no', 'No', 'off', 'OFF'])
    assert.equal(tryParseBoolean(text), false, text);
});

test('anything else is no boolean', () => {
  for (const text of ['', 't', 'y', 'enabled', '2', '01', ' on']) assert.equal(tryParseBoolean(text), undefined, text);
});
