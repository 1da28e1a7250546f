import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { RequestBody, type RequestBodyOwner } from '../../../src/edge/request-body.ts';
import { UploadWatch } from '../../../src/edge/upload-watch.ts';
import type { UpstreamConnection } from '../../../src/upstream/upstream-connection.ts';
import { StubResponse } from '../../helpers/stub-response.ts';

const SMALL = { body: Buffer.alloc(1000) };
const LARGE = { body: Buffer.alloc(100_000) };
const IDLE_MS = 60_000;

class CountingResponse extends StubResponse {
  pauses = 0;
  override pause(): void {
    super.pause();
    this.pauses += 1;
  }
}

function start(options: { maxBodyBytes?: number; isChunked?: boolean } = {}) {
  const { maxBodyBytes = 0, isChunked = true } = options;
  const res = new CountingResponse();
  const told: string[] = [];
  const owner: RequestBodyOwner = {
    onBodyReceived: () => told.push('received'),
    onBodyTooLarge: () => told.push('too large'),
    onBodySilent: () => told.push('silent'),
    onBodyStalled: () => told.push('stalled'),
  };
  const watch = new UploadWatch({ maxBodyBytes, uploadIdleTimeoutMs: IDLE_MS });
  const body = new RequestBody(res.asResponse, isChunked, watch);
  body.owner = owner;
  return { res, body, told };
}

/** An app's connection that takes what is written, until it is slow. */
class StubConnection {
  isSlow = false;
  text = '';
  isFinished = false;

  get asConnection(): UpstreamConnection {
    return this as unknown as UpstreamConnection;
  }

  get unwrittenBytes(): number {
    return this.isSlow ? 64 * 1024 : 0;
  }

  write(chunk: Buffer | string): boolean {
    this.text += chunk.toString();
    return !this.isSlow;
  }

  finishRequest(): void {
    this.isFinished = true;
  }
}

test('a body that is silent for the timeout is told once a sweep sees it, and not before', () => {
  const { body, told } = start();
  body.sweep(1000, IDLE_MS);
  body.sweep(1000 + IDLE_MS - 1, IDLE_MS);
  assert.deepEqual(told, []);
  body.sweep(1000 + IDLE_MS, IDLE_MS);
  assert.deepEqual(told, ['silent']);
});

test('every byte begins the silence anew, counted from the sweep that learns of it', () => {
  const { res, body, told } = start();
  body.sweep(1000, IDLE_MS);
  res.receive('x', false);
  body.sweep(50_000, IDLE_MS);
  body.sweep(50_000 + IDLE_MS - 1, IDLE_MS);
  assert.deepEqual(told, []);
  body.sweep(50_000 + IDLE_MS, IDLE_MS);
  assert.deepEqual(told, ['silent']);
});

test('the timer of uWebSockets.js is started anew every four seconds, and at once in no sweep', () => {
  const { res, body } = start();
  const pauses: number[] = [];
  for (let now = 1000; now <= 14_000; now += 1000) {
    const before = res.pauses;
    body.sweep(now, IDLE_MS);
    if (res.pauses > before) pauses.push(now);
    assert.equal(res.isPaused, false);
  }
  assert.deepEqual(pauses, [5000, 9000, 13_000]);
});

test('a client that is held back is neither silent nor touched', async () => {
  const { res, body, told } = start();
  const app = new StubConnection();
  body.attach(app.asConnection);
  app.isSlow = true;
  res.receive('held', false);
  await turn();
  assert.equal(res.isPaused, true);
  for (let now = 1000; now < 2 * IDLE_MS; now += 1000) body.sweep(now, IDLE_MS);
  assert.deepEqual(told, []);
  assert.equal(res.isPaused, true);
  assert.equal(res.pauses, 1);
  body.onDrain();
  assert.equal(res.isPaused, false);
});

test('a body whose rest nobody wants may be silent, and its timer is kept', () => {
  const { res, body, told } = start();
  body.dropRest();
  for (let now = 1000; now < 2 * IDLE_MS; now += 1000) body.sweep(now, IDLE_MS);
  assert.deepEqual(told, []);
  assert.ok(res.pauses > 10);
});

test('a body over the limit is told with the first byte over it, and that part does not go on', () => {
  const { res, body, told } = start({ maxBodyBytes: 8 });
  const app = new StubConnection();
  body.attach(app.asConnection);
  res.receive('12345', false);
  res.receive('678', false);
  assert.deepEqual(told, []);
  res.receive('9', false);
  assert.deepEqual(told, ['too large']);
  assert.equal(app.text, '5\r\n12345\r\n3\r\n678\r\n');
});

test('a body that is whole before there is a connection is told, and goes on when there is one', () => {
  const { res, body, told } = start();
  res.receive('whole', false);
  res.receive('', true);
  assert.deepEqual(told, ['received']);
  const app = new StubConnection();
  body.attach(app.asConnection);
  assert.equal(app.text, '5\r\nwhole\r\n0\r\n\r\n');
  assert.equal(app.isFinished, true);
});

test('lingering ends with the body, but not in the turn of the loop in which it ends', async () => {
  const { res, body } = start();
  body.linger(SMALL);
  res.receive('rest', true);
  assert.equal(res.isClosed, false);
  await turn();
  assert.equal(res.isClosed, true);
});

test('lingering ends after two seconds of silence, or ten in all', async () => {
  for (const isTalking of [false, true]) {
    const { res, body } = start();
    body.linger(SMALL);
    const begun = Math.ceil(performance.now());
    let second = 0;
    while (!res.isClosed) {
      second += 1;
      assert.ok(second < 20);
      if (isTalking) res.receive('more', false);
      body.sweep(begun + second * 1000, IDLE_MS);
      await turn();
    }
    assert.equal(second, isTalking ? 10 : 3);
  }
});

test('lingering ends after 64 MiB', async () => {
  const { res, body } = start();
  body.linger(SMALL);
  const piece = 'x'.repeat(1024 * 1024);
  for (let count = 0; count < 64; count += 1) res.receive(piece, false);
  await turn();
  assert.equal(res.isClosed, false);
  res.receive('x', false);
  await turn();
  assert.equal(res.isClosed, true);
});

test('a large answer has ten seconds to leave, even when the body is over', async () => {
  const { res, body } = start();
  body.linger(LARGE);
  const begun = Math.ceil(performance.now());
  res.receive('rest', true);
  for (let second = 1; second <= 9; second += 1) body.sweep(begun + second * 1000, IDLE_MS);
  await turn();
  assert.equal(res.isClosed, false);
  body.sweep(begun + 11_000, IDLE_MS);
  await turn();
  assert.equal(res.isClosed, true);
});

test('a client that leaves while lingering is not closed again', async () => {
  const { res, body } = start();
  body.linger(SMALL);
  res.receive('rest', true);
  body.stop();
  await turn();
  assert.equal(res.isClosed, false);
});
