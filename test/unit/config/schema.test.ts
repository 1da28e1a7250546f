import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDefault, OWN_NAMES, SCHEMA, type Variable } from '../../../src/config/schema.ts';

const variables: readonly Variable<unknown>[] = Object.values(SCHEMA);

test('only PORT has no prefix, and no name stands twice', () => {
  const names = variables.map(({ name }) => name);
  assert.equal(new Set([...names, ...OWN_NAMES]).size, names.length + OWN_NAMES.length);
  assert.deepEqual(
    names.filter((name) => !/^UWSRP_[A-Z_]+$/.test(name)),
    ['PORT'],
  );
});

test('every default passes its own parser', () => {
  for (const { name, kind, fallback, platformFallbacks = {} } of variables) {
    const isNone = fallback === undefined || (Array.isArray(fallback) && fallback.length === 0);
    for (const value of [...(isNone ? [] : [fallback]), ...Object.values(platformFallbacks)]) {
      assert.deepEqual(kind.parse(kind.format(value as NonNullable<unknown>)), value, name);
    }
  }
});

test('every variable says what it means and what is allowed in plain sentences', () => {
  for (const { name, meaning, kind } of variables) {
    assert.match(meaning, /\.$/, name);
    assert.doesNotMatch(meaning, /\n|\|/, name);
    assert.match(kind.allowed, /^[^\n]+[^.]$/, name);
  }
});

test('a default is shown with what platforms have instead', () => {
  assert.equal(formatDefault(SCHEMA.port), '8080');
  assert.equal(formatDefault(SCHEMA.command), '–');
  assert.equal(formatDefault(SCHEMA.host), 'all interfaces, IPv4 and IPv6');
  assert.equal(formatDefault(SCHEMA.readyTimeoutMs), '5m (55s on Heroku and Scalingo, 230s on Cloud Run)');
  assert.equal(formatDefault(SCHEMA.drainDelayMs), '0s (5s on Kubernetes)');
});
