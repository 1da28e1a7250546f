import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteSize, choice, count, duration, list, offOr, pattern, switchOr, text } from '../../../src/config/kind.ts';

test('a choice takes its words in any case and nothing else', () => {
  const kind = choice('json', 'pretty');
  assert.equal(kind.parse('json'), 'json');
  assert.equal(kind.parse('Pretty'), 'pretty');
  assert.throws(() => kind.parse('xml'), /"xml" is unknown/);
  assert.throws(() => kind.parse('jso'), /unknown/);
  assert.equal(kind.allowed, 'json or pretty');
});

test('a switch takes every spelling of a boolean, and its further words', () => {
  const kind = switchOr('strict');
  for (const input of ['on', 'TRUE', '1', 'Yes']) assert.equal(kind.parse(input), 'on', input);
  for (const input of ['off', 'False', '0', 'NO']) assert.equal(kind.parse(input), 'off', input);
  assert.equal(kind.parse('STRICT'), 'strict');
  assert.throws(() => kind.parse('maybe'), /unknown/);
  assert.throws(() => kind.parse('2'), /unknown/);
});

test('off is taken in every spelling of it, and on in none', () => {
  const kind = offOr('shared', 'dedicated');
  for (const input of ['off', 'False', '0', 'NO']) assert.equal(kind.parse(input), 'off', input);
  assert.equal(kind.parse('Dedicated'), 'dedicated');
  for (const input of ['on', 'true', '1', 'share']) assert.throws(() => kind.parse(input), /unknown/, input);
  assert.equal(kind.allowed, 'off (or false, 0, no), shared or dedicated');
});

test('a duration keeps to its limits, and takes 0 only where it means something', () => {
  const plain = duration();
  assert.equal(plain.parse('1ms'), 1);
  assert.equal(plain.parse('24h'), 86_400_000);
  assert.throws(() => plain.parse('0'), /"0" is less than 1ms/);
  assert.throws(() => plain.parse('0s'), /less than/);
  assert.throws(() => plain.parse('25h'), /more than 24h/);
  assert.throws(() => plain.parse('99999999999999999999h'), /more than 24h/);
  assert.throws(() => plain.parse('30'), /has no unit/);

  const withZero = duration({ zero: 'no limit' });
  assert.equal(withZero.parse('0'), 0);
  assert.equal(withZero.parse('0s'), 0);
  assert.match(withZero.allowed, /250ms, 30s or 5m.*; 0 for no limit$/);

  const bounded = duration({ leastMs: 8000, mostMs: 960_000, isWholeSeconds: true });
  assert.equal(bounded.parse('8s'), 8000);
  assert.equal(bounded.parse('16m'), 960_000);
  assert.equal(bounded.parse('9000ms'), 9000);
  assert.throws(() => bounded.parse('7s'), /less than 8s/);
  assert.throws(() => bounded.parse('17m'), /more than 16m/);
  assert.throws(() => bounded.parse('8500ms'), /not in whole seconds/);
});

test('a size keeps to its limits', () => {
  const kind = byteSize(4096, 1024 ** 2);
  assert.equal(kind.parse('4kb'), 4096);
  assert.equal(kind.parse('1mb'), 1_048_576);
  assert.throws(() => kind.parse('4095'), /"4095" is less than 4kb/);
  assert.throws(() => kind.parse('1048577'), /more than 1mb/);
  assert.throws(() => kind.parse('0'), /less than/);

  const withZero = byteSize(1, 1024, 'no limit');
  assert.equal(withZero.parse('0'), 0);
  assert.equal(withZero.parse('1kb'), 1024);
  assert.match(withZero.allowed, /; 0 for no limit$/);
});

test('a list is split at commas, without blanks and empty values', () => {
  const kind = list(pattern('letters', /^[a-z]+$/));
  assert.deepEqual(kind.parse('a'), ['a']);
  assert.deepEqual(kind.parse(' a , b,,c, '), ['a', 'b', 'c']);
  assert.throws(() => kind.parse(','), /holds no value/);
  assert.throws(() => kind.parse('a,B'), /"B" does not have the right form/);
  assert.equal(kind.format(['a', 'b']), 'a,b');
});

test('a text is taken as it is', () => {
  assert.equal(text('anything').parse('node "a b" && c'), 'node "a b" && c');
});

test('a count is a whole number within its range, and nothing else', () => {
  const kind = count(0, 100);
  assert.equal(kind.parse('0'), 0);
  assert.equal(kind.parse('100'), 100);
  for (const text of ['101', '-1', '1.5', '1e2', '0x1', ' 1', 'many']) assert.throws(() => kind.parse(text));
});
