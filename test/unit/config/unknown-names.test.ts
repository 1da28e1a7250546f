import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUnknownNames } from '../../../src/config/unknown-names.ts';

const KNOWN = ['PORT', 'UWSRP_HOST', 'UWSRP_TRUST_PROXY', 'UWSRP_READY_TIMEOUT'];

test('an unknown name comes with the nearest known one', () => {
  const [line, ...rest] = findUnknownNames(['UWSRP_READY_TIMOUT'], KNOWN, []);
  assert.match(line!, /^UWSRP_READY_TIMOUT: unknown variable; did you mean UWSRP_READY_TIMEOUT\?/);
  assert.deepEqual(rest, []);
  assert.match(findUnknownNames(['UWSRP_TRUSTPROXY'], KNOWN, [])[0]!, /did you mean UWSRP_TRUST_PROXY\?/);
  assert.match(findUnknownNames(['UWSRP_PORT'], KNOWN, [])[0]!, /did you mean PORT\?/);
});

test('known names, tolerated ones and those of others are no problem', () => {
  assert.deepEqual(findUnknownNames([...KNOWN, 'UWSRP_OWN', 'PATH', 'UWSRPX', 'uwsrp_host'], KNOWN, ['UWSRP_OWN']), []);
});
