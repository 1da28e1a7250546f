import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeKnownLength } from '../../../src/edge/known-length-body.ts';
import type { HttpResponse } from '../../../src/edge/uws.ts';
import { Random } from '../../helpers/random.ts';

const CORK_BYTES = 16 * 1024;

/**
 * uWebSockets.js as it was seen to behave: what fits is collected in a cork and counts as written, and what the kernel
 * does not take of it is queued when the cork ends; a larger chunk goes by the cork. While anything is queued, nothing
 * more is taken. `room` is what the kernel takes.
 */
class StubUws {
  room = Number.POSITIVE_INFINITY;
  body = '';
  isDone = false;
  queuedBytes = 0;
  #offset = 0;
  #isCorked = false;

  get asResponse(): HttpResponse {
    return this as unknown as HttpResponse;
  }

  cork(write: () => void): void {
    this.#isCorked = true;
    write();
    this.#isCorked = false;
    this.send();
  }

  getWriteOffset(): number {
    assert.ok(!this.isDone, 'the response is over');
    return this.#offset;
  }

  tryEnd(chunk: Buffer, total: number): [boolean, boolean] {
    assert.ok(this.#isCorked, 'uWebSockets.js would complain of a write outside of a cork');
    this.send();
    if (this.queuedBytes > 0) return [false, false];
    const isCollected = chunk.length <= CORK_BYTES;
    const taken = isCollected ? chunk.length : Math.min(chunk.length, this.room);
    if (isCollected) this.queuedBytes = taken;
    else this.room -= taken;
    this.body += chunk.toString('latin1', 0, taken);
    this.#offset += taken;
    this.isDone = this.#offset === total;
    return [taken === chunk.length, this.isDone];
  }

  send(): void {
    const sent = Math.min(this.room, this.queuedBytes);
    this.queuedBytes -= sent;
    this.room -= sent;
  }
}

test('a body goes on as it comes', () => {
  const uws = new StubUws();
  for (const letter of 'abc') {
    const bytes = Buffer.alloc(30_000, letter);
    assert.ok(writeKnownLength(uws.asResponse, [bytes], 90_000, letter === 'c', 90_000));
  }
  assert.equal(
    uws.body,
    'abc'.replace(/./g, (letter) => letter.repeat(30_000)),
  );
  assert.ok(uws.isDone);
});

test('the end of a body is not taken while what is before it is queued', () => {
  const uws = new StubUws();
  uws.room = 40_000;
  const chunks = [Buffer.alloc(32_000, 'a'), Buffer.alloc(10_000, 'b')];
  assert.equal(writeKnownLength(uws.asResponse, chunks, 42_000, true, 42_000), false);
  assert.equal(uws.queuedBytes, 1999);
  assert.deepEqual(chunks, [Buffer.from('b')]);
  assert.equal(writeKnownLength(uws.asResponse, chunks, 42_000, true, 42_000), false);
  uws.room = Number.POSITIVE_INFINITY;
  assert.ok(writeKnownLength(uws.asResponse, chunks, 42_000, true, 42_000));
  assert.ok(uws.isDone);
  assert.equal(uws.body, 'a'.repeat(32_000) + 'b'.repeat(10_000));
});

test('bodies of any chunks come whole to a client that takes them in any pieces, and end with nothing queued', () => {
  const random = new Random(7);
  for (let round = 0; round < 200; round += 1) {
    const uws = new StubUws();
    uws.room = random.between(0, 40_000);
    const reads = Array.from({ length: random.between(2, 6) }, (_, index) =>
      Buffer.alloc(random.between(9000, 40_000), `${index}`),
    );
    const whole = Buffer.concat(reads);
    let bodyBytes = 0;
    const chunks: Buffer[] = [];
    for (const [index, read] of reads.entries()) {
      const isLast = index === reads.length - 1;
      bodyBytes += read.length;
      chunks.push(read);
      while (!writeKnownLength(uws.asResponse, chunks, whole.length, isLast, bodyBytes)) {
        uws.room = random.between(1, 40_000);
      }
    }
    assert.ok(uws.isDone);
    assert.ok(uws.queuedBytes <= 1, `${uws.queuedBytes} bytes are queued`);
    assert.equal(uws.body, whole.toString('latin1'));
  }
});
