import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeChunks } from '../../../src/edge/chunked-body.ts';
import type { HttpResponse } from '../../../src/edge/uws.ts';
import { Random } from '../../helpers/random.ts';

const CORK_BYTES = 16 * 1024;

/**
 * uWebSockets.js as it was seen to behave: what is written in a cork is collected, counts as taken unless something is
 * queued from before, and is sent when the cork ends. `room` is what the kernel takes.
 */
class StubUws {
  room = Number.POSITIVE_INFINITY;
  body = '';
  ends = 0;
  queuedBytes = 0;
  readonly corkBytes: number[] = [];
  #corked = 0;

  get asResponse(): HttpResponse {
    return this as unknown as HttpResponse;
  }

  cork(write: () => void): void {
    this.#corked = 0;
    write();
    this.corkBytes.push(this.#corked);
    this.#send();
  }

  write(chunk: Buffer): boolean {
    assert.ok(chunk.length > 0, 'an empty chunk would end the body');
    const frame = `${chunk.length.toString(16)}\r\n`.length + 4;
    this.#corked += chunk.length + frame;
    this.body += chunk.toString('latin1');
    this.#send();
    const isTaken = this.queuedBytes === 0;
    this.queuedBytes += chunk.length + frame;
    return isTaken;
  }

  end(): void {
    this.ends += 1;
  }

  drain(): void {
    this.room = Number.POSITIVE_INFINITY;
    this.#send();
  }

  #send(): void {
    const sent = Math.min(this.room, this.queuedBytes);
    this.queuedBytes -= sent;
    this.room -= sent;
  }
}

const chunksOf = (random: Random, count: number, largest: number) =>
  Array.from({ length: count }, (_, index) => Buffer.alloc(random.between(1, largest), `${index}`));

test('a small body goes in one cork, its end included', () => {
  const uws = new StubUws();
  assert.ok(writeChunks(uws.asResponse, [Buffer.from('a'), Buffer.from('bc')], true, false));
  assert.equal(uws.body, 'abc');
  assert.deepEqual([uws.corkBytes.length, uws.ends], [1, 1]);
});

test('a body without a byte is ended', () => {
  const uws = new StubUws();
  assert.ok(writeChunks(uws.asResponse, [], true, true));
  assert.deepEqual([uws.body, uws.ends], ['', 1]);
});

test('never more is written in one cork than its buffer holds, and all of it, in order, ended once', () => {
  const random = new Random(16);
  for (let round = 0; round < 500; round += 1) {
    const uws = new StubUws();
    const chunks = chunksOf(random, random.between(1, 6), random.pick([10, 5000, 16_384, 16_370, 65_536, 200_000]));
    const expected = Buffer.concat(chunks).toString('latin1');
    const isSlow = random.chance(0.5);
    let isTaken = writeChunks(uws.asResponse, chunks, true, isSlow);
    for (; !isTaken; isTaken = writeChunks(uws.asResponse, chunks, true, true)) uws.drain();
    assert.ok(Math.max(...uws.corkBytes) <= CORK_BYTES, `${Math.max(...uws.corkBytes)} bytes in one cork`);
    assert.ok(uws.body === expected, `round ${round}`);
    assert.equal(uws.ends, 1);
    assert.equal(chunks.length, 0);
  }
});

test('a client that does not keep up is noticed, and nothing is queued for it beyond two corks', () => {
  const random = new Random(17);
  for (let round = 0; round < 500; round += 1) {
    const uws = new StubUws();
    const chunks = chunksOf(random, random.between(1, 4), 60_000);
    const expected = Buffer.concat(chunks).toString('latin1');
    const isSlow = random.chance(0.5);
    uws.room = random.between(0, expected.length - 1);
    const isLarge = isSlow || expected.length > CORK_BYTES / 2;
    let isTaken = writeChunks(uws.asResponse, chunks, true, isSlow);
    if (isLarge) assert.ok(!isTaken, `round ${round}: ${uws.queuedBytes} bytes are queued, and nobody knows`);
    for (; !isTaken; isTaken = writeChunks(uws.asResponse, chunks, true, true)) {
      assert.equal(uws.ends, 0);
      assert.ok(uws.queuedBytes <= 2 * CORK_BYTES, `${uws.queuedBytes} bytes are queued`);
      uws.drain();
      uws.room = random.between(0, 100_000);
    }
    assert.ok(uws.body === expected);
    assert.equal(uws.ends, 1);
  }
});
