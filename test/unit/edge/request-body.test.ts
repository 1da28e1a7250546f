import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { RequestBody } from '../../../src/edge/request-body.ts';
import { UploadWatch } from '../../../src/edge/upload-watch.ts';
import type { UpstreamConnection } from '../../../src/upstream/upstream-connection.ts';
import { StubResponse } from '../../helpers/stub-response.ts';

const IDLE_TIMEOUT_MS = 60_000;
const MINUTE_MS = 60_000;

/** A body on its way to an app that takes what it is told to take. */
function start(isChunked = false) {
  const res = new StubResponse();
  const body = new RequestBody(res.asResponse, isChunked, new UploadWatch({ maxBodyBytes: 0, uploadIdleTimeoutMs: 0 }));
  const told: string[] = [];
  body.owner = {
    onBodyReceived: () => told.push('received'),
    onBodyTooLarge: () => told.push('too large'),
    onBodySilent: () => told.push('silent'),
    onBodyStalled: () => told.push('stalled'),
  };
  const app = { isSlow: false, unwrittenBytes: 0, finishRequest() {}, write: () => !app.isSlow };
  body.attach(app as unknown as UpstreamConnection);
  const sweepAt = (ms: number) => body.sweep(performance.now() + ms, IDLE_TIMEOUT_MS);
  return { res, body, told, app, sweepAt };
}

test('a client is held back when the app takes no more, once the current read is over', async () => {
  const { res, body, app } = start();
  app.isSlow = true;
  res.receive('a', false);
  assert.equal(res.isPaused, false);
  await turnOfTheLoop();
  assert.equal(res.isPaused, true);
  assert.ok(body.isPaused);
  body.onDrain();
  assert.equal(res.isPaused, false);
});

test('a client is not held back when its last byte is in the same read', async () => {
  const { res, app } = start(true);
  app.isSlow = true;
  res.receive('a', false);
  res.receive('', true);
  await turnOfTheLoop();
  assert.equal(res.isPaused, false);
});

test('an app that takes nothing for five minutes is given up, and not the client that waits for it', async () => {
  const { res, told, app, sweepAt } = start();
  app.isSlow = true;
  res.receive('a', false);
  await turnOfTheLoop();
  sweepAt(0);
  sweepAt(4 * MINUTE_MS);
  assert.deepEqual(told, []);
  sweepAt(5 * MINUTE_MS + 1000);
  assert.deepEqual(told, ['stalled']);
});

test('an app that takes something now and then has all the time', async () => {
  const { res, body, told, app, sweepAt } = start();
  for (let round = 0; round < 3; round += 1) {
    app.isSlow = true;
    res.receive('a', false);
    await turnOfTheLoop();
    sweepAt(4 * MINUTE_MS);
    body.onDrain();
  }
  assert.deepEqual(told, []);
});

test('a client that waits for a connection is not the fault of an app that never saw it', async () => {
  const res = new StubResponse();
  const body = new RequestBody(res.asResponse, false, new UploadWatch({ maxBodyBytes: 0, uploadIdleTimeoutMs: 0 }));
  body.owner = {
    onBodyReceived() {},
    onBodyTooLarge() {},
    onBodySilent: () => assert.fail('silent'),
    onBodyStalled: () => assert.fail('stalled'),
  };
  res.receive('x'.repeat(70_000), false);
  await turnOfTheLoop();
  assert.ok(res.isPaused);
  body.sweep(performance.now() + 60 * MINUTE_MS, IDLE_TIMEOUT_MS);
});
