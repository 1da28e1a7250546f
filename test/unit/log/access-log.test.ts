import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { type AccessEntry, AccessLog } from '../../../src/log/access-log.ts';

const ENTRY: AccessEntry = {
  method: 'GET',
  path: '/a',
  status: 200,
  bodyBytes: 12,
  firstByteMs: 1.26,
  totalMs: 3.21,
  requestId: 'id-1',
  clientAddress: '192.0.2.7',
  failure: undefined,
};

function start(mode: 'off' | 'errors' | 'all', level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level, base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  return { log: AccessLog.create(mode, logger), lines };
}

function lineOf(entry: Partial<AccessEntry>): Record<string, unknown> {
  const { log, lines } = start('all');
  log!.write({ ...ENTRY, ...entry });
  return lines[0]!;
}

test('a line tells everything of a request, times in tenths of milliseconds', () => {
  assert.deepEqual(lineOf({}), {
    level: 30,
    method: 'GET',
    path: '/a',
    status: 200,
    bytes: 12,
    firstByteMs: 1.3,
    durationMs: 3.2,
    client: '192.0.2.7',
    requestId: 'id-1',
    msg: 'request',
  });
});

test('a line of a failure says why', () => {
  const failure = { code: 'UPSTREAM_REFUSED', message: 'cannot connect' };
  assert.deepEqual(lineOf({ status: 502, firstByteMs: undefined, requestId: undefined, failure }), {
    level: 40,
    method: 'GET',
    path: '/a',
    status: 502,
    bytes: 12,
    durationMs: 3.2,
    client: '192.0.2.7',
    code: 'UPSTREAM_REFUSED',
    reason: 'cannot connect',
    msg: 'request failed',
  });
});

const FAILURE = { code: 'X', message: 'x' };
const LEVELS: [status: number, failure: typeof FAILURE | undefined, level: number][] = [
  [200, undefined, 30],
  [404, undefined, 30],
  [413, FAILURE, 30],
  [499, FAILURE, 30],
  [500, undefined, 40],
  [503, FAILURE, 40],
  [200, FAILURE, 40],
];
for (const [status, failure, level] of LEVELS) {
  test(`${status} ${failure ? 'that failed' : 'from the app'} is ${level === 30 ? 'information' : 'a warning'}`, () => {
    assert.equal(lineOf({ status, failure }).level, level);
  });
}

test('errors are 5xx, 499 and cut answers; all is everything', () => {
  const { log: errors } = start('errors');
  for (const status of [499, 500, 502, 599, 999]) assert.equal(errors!.wants(status, false), true, `${status}`);
  for (const status of [101, 200, 304, 400, 413, 498]) {
    assert.equal(errors!.wants(status, false), false, `${status}`);
    assert.equal(errors!.wants(status, true), true, `${status} cut`);
  }
  const { log: all } = start('all');
  for (const status of [101, 200, 304, 404, 499, 502]) assert.equal(all!.wants(status, false), true, `${status}`);
});

test('there is none when nothing would be written', () => {
  assert.equal(start('off').log, undefined);
  assert.equal(start('all', 'error').log, undefined);
  assert.equal(start('all', 'silent').log, undefined);
  // Only warnings are left of it.
  const { log } = start('all', 'warn');
  assert.equal(log!.wants(200, false), false);
  assert.equal(log!.wants(502, false), true);
});

test('a path is printable ASCII, whatever its bytes', () => {
  assert.equal(lineOf({ path: '/caf\xe9/%2F"x"' }).path, '/caf%E9/%2F"x"');
  assert.equal(lineOf({ path: '/a\n\x1b[31m\x00\x9b b' }).path, '/a%0A%1B[31m%00%9B%20b');
});

test('a long path and a long method are cut', () => {
  const path = String(lineOf({ path: `/${'p'.repeat(5000)}` }).path);
  assert.equal(path, `/${'p'.repeat(1023)}…`);
  assert.equal(lineOf({ method: 'M'.repeat(100) }).method, 'M'.repeat(32));
});
