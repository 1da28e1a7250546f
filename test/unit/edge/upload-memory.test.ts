import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyFramed, PIECE_BYTES, UploadMemory } from '../../../src/edge/upload-memory.ts';

/** An app that takes all at once, or nothing until it is told to. */
class StubTarget {
  isSlow = false;
  unwrittenBytes = 0;
  readonly written: Buffer[] = [];
  /** What the kernel took, copied as it took it. */
  readonly #taken: Buffer[] = [];
  #takenCount = 0;

  write(bytes: Buffer): boolean {
    this.written.push(bytes);
    this.unwrittenBytes += bytes.length;
    if (!this.isSlow) this.take();
    return !this.isSlow;
  }

  /** Takes all that was written. */
  take(): void {
    for (const bytes of this.written.slice(this.#takenCount)) this.#taken.push(Buffer.from(bytes));
    this.#takenCount = this.written.length;
    this.unwrittenBytes = 0;
  }

  get text(): string {
    return Buffer.concat(this.#taken).toString('latin1');
  }
}

const memoryOf = (buffers: readonly Buffer[]) => new Set(buffers.map(({ buffer }) => buffer));
const filled = (length: number, letter: string) => Buffer.alloc(length, letter);

test('a block that was taken at once is used for the next piece', () => {
  const target = new StubTarget();
  const memory = new UploadMemory(false);
  assert.equal(memory.send(target, Buffer.concat([filled(PIECE_BYTES, 'a'), filled(PIECE_BYTES, 'b')])), true);
  assert.equal(memory.send(target, filled(100, 'c')), true);
  assert.equal(target.text, 'a'.repeat(PIECE_BYTES) + 'b'.repeat(PIECE_BYTES) + 'c'.repeat(100));
  assert.equal(target.written.length, 3);
  assert.equal(memoryOf(target.written).size, 1);
});

test('what a slow app has not taken stays as it is, whoever sends meanwhile', () => {
  const [slow, fast] = [new StubTarget(), new StubTarget()];
  slow.isSlow = true;
  const memory = new UploadMemory(false);
  const source = Buffer.concat([filled(PIECE_BYTES, 'a'), filled(PIECE_BYTES, 'b')]);
  assert.equal(memory.send(slow, source), false);
  source.fill('x');
  new UploadMemory(false).send(fast, filled(3 * PIECE_BYTES, 'c'));
  slow.take();
  assert.equal(slow.text, 'a'.repeat(PIECE_BYTES) + 'b'.repeat(PIECE_BYTES));
});

test('blocks are used again once a slow app has taken them', () => {
  const target = new StubTarget();
  target.isSlow = true;
  const memory = new UploadMemory(false);
  memory.send(target, filled(3 * PIECE_BYTES, 'a'));
  memory.reclaim(target);
  memory.send(target, filled(3 * PIECE_BYTES, 'b'));
  assert.equal(memoryOf(target.written).size, 6);
  target.take();
  memory.reclaim(target);
  memory.send(target, filled(6 * PIECE_BYTES, 'c'));
  target.take();
  assert.equal(memoryOf(target.written).size, 6);
  assert.equal(
    target.text,
    'abc'.replace(/./g, (letter) => letter.repeat((letter === 'c' ? 6 : 3) * PIECE_BYTES)),
  );
});

test('small pieces that wait hold no more than their own size', () => {
  const target = new StubTarget();
  target.isSlow = true;
  const memory = new UploadMemory(false);
  for (let count = 0; count < 10; count += 1) memory.send(target, filled(100, 'a'));
  const held = [...memoryOf(target.written)].reduce((bytes, { byteLength }) => bytes + byteLength, 0);
  // The first one had a block, since nothing was behind then.
  assert.ok(held < PIECE_BYTES + 16 * 1024, `${held} bytes are held`);
});

test('a chunked body is framed piece by piece, each in one write', () => {
  const target = new StubTarget();
  const memory = new UploadMemory(true);
  memory.send(target, filled(PIECE_BYTES + 26, 'a'));
  assert.equal(target.text, `${PIECE_BYTES.toString(16)}\r\n${'a'.repeat(PIECE_BYTES)}\r\n1a\r\n${'a'.repeat(26)}\r\n`);
  assert.equal(target.written.length, 2);
});

test('a copy is framed too, and is its own', () => {
  const source = filled(700_000, 'a');
  const copy = copyFramed(source, true);
  const plain = copyFramed(source, false);
  source.fill('x');
  assert.equal(copy.toString('latin1'), `aae60\r\n${'a'.repeat(700_000)}\r\n`);
  assert.equal(plain.toString('latin1'), 'a'.repeat(700_000));
});
