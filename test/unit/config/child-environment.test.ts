import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChildEnvironment } from '../../../src/config/child-environment.ts';

test('the real environment wins over the file, also with an empty value', () => {
  assert.deepEqual(
    createChildEnvironment({ A: 'real', B: '', D: undefined }, { A: 'file', B: 'file', C: 'file', D: 'd' }),
    {
      A: 'real',
      B: '',
      C: 'file',
      D: 'd',
    },
  );
});

test('NODE_OPTIONS is what the launcher has put aside, under its own name again', () => {
  assert.deepEqual(createChildEnvironment({ UWSRP_APP_NODE_OPTIONS: '--max-old-space-size=200' }, {}), {
    NODE_OPTIONS: '--max-old-space-size=200',
  });
  assert.deepEqual(createChildEnvironment({ UWSRP_APP_NODE_OPTIONS: '--a' }, { NODE_OPTIONS: '--b' }), {
    NODE_OPTIONS: '--a',
  });
  assert.deepEqual(createChildEnvironment({ UWSRP_APP_NODE_OPTIONS: '' }, { NODE_OPTIONS: '--b' }), {
    NODE_OPTIONS: '--b',
  });
});

test('without the launcher NODE_OPTIONS stays as it is, and so does what the user set for uWebSockets.js', () => {
  assert.deepEqual(createChildEnvironment({ NODE_OPTIONS: '--a', UWS_HTTP_MAX_HEADERS_SIZE: '8192' }, {}), {
    NODE_OPTIONS: '--a',
    UWS_HTTP_MAX_HEADERS_SIZE: '8192',
  });
});

test('a name of the launcher in the file means nothing', () => {
  assert.deepEqual(createChildEnvironment({}, { UWSRP_APP_NODE_OPTIONS: '--evil' }), {});
});
