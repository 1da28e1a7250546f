import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropOwnName, dropOwnNameFromLine } from '../../../src/lib/own-name.ts';

test('leading words uwsrp are dropped from a list of words', () => {
  assert.deepEqual(dropOwnName(['uwsrp', 'node', 'server.js']), ['node', 'server.js']);
  assert.deepEqual(dropOwnName(['uwsrp', 'uwsrp', 'node']), ['node']);
  assert.deepEqual(dropOwnName(['/opt/uwsrp/bin/uwsrp', 'node']), ['node']);
  assert.deepEqual(dropOwnName(['uwsrp']), []);
  assert.deepEqual(dropOwnName([]), []);
});

test('a whole line in one word loses its leading words too, as Heroku joins CMD', () => {
  assert.deepEqual(dropOwnName(['uwsrp node server.js']), ['node server.js']);
  assert.deepEqual(dropOwnName(['uwsrp', 'uwsrp  node server.js']), ['node server.js']);
});

test('words that only contain the name, and later ones, stay', () => {
  for (const words of [['uwsrp.sh'], ['my-uwsrp'], ['uwsrp-tool', 'x'], ['node', 'uwsrp'], ['/srv/uwsrp'], ['', 'a']]) {
    assert.deepEqual(dropOwnName(words), words);
  }
});

test('a line loses its leading words and keeps everything else as it is', () => {
  assert.equal(dropOwnNameFromLine('uwsrp node  "a b"'), 'node  "a b"');
  assert.equal(dropOwnNameFromLine('  uwsrp uwsrp node'), 'node');
  assert.equal(dropOwnNameFromLine('uwsrp'), '');
  assert.equal(dropOwnNameFromLine('  node server.js '), '  node server.js ');
  assert.equal(dropOwnNameFromLine('PORT=1 uwsrp node'), 'PORT=1 uwsrp node');
});
