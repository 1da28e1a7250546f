import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from '../../../src/lib/duration.ts';

test('a duration is a whole number with its unit, in milliseconds', () => {
  assert.equal(parseDuration('250ms'), 250);
  assert.equal(parseDuration('30s'), 30_000);
  assert.equal(parseDuration('5m'), 300_000);
  assert.equal(parseDuration('1h'), 3_600_000);
  assert.equal(parseDuration('0s'), 0);
});

test('a bare number is refused with the units, a bare zero is not', () => {
  assert.equal(parseDuration('0'), 0);
  assert.throws(() => parseDuration('30'), { message: '"30" has no unit: ms, s, m or h' });
});

test('what is no duration is refused', () => {
  for (const text of ['', 's', '-5s', '+5s', '1.5s', '5 s', '5S', '5sec', '1m30s', '5d', '0x5s', '1e3ms', '5s\n']) {
    assert.throws(() => parseDuration(text), /is not a duration/, text);
  }
});

test('a duration is shown in its largest exact unit', () => {
  for (const text of ['0s', '250ms', '1500ms', '9s', '90s', '5m', '2h']) {
    assert.equal(formatDuration(parseDuration(text)), text);
  }
  assert.equal(formatDuration(60_000), '1m');
});
