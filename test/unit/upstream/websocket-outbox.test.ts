import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BINARY, CLOSE, PING, PONG, TEXT } from '../../../src/upstream/websocket-frame.ts';
import { type FrameTarget, WebSocketOutbox } from '../../../src/upstream/websocket-outbox.ts';
import { Random } from '../../helpers/random.ts';
import { type FrameEvent, readWithWs } from '../../helpers/websocket-frames.ts';

/** A socket whose kernel takes all, or holds every write back until it is released. */
class Target implements FrameTarget {
  isHeld = false;
  writes = 0;
  reports = 0;
  onBehind = () => {};
  /** The very buffers that were written and not taken: the outbox must leave them alone. */
  #held: Buffer[] = [];
  #taken: Buffer[] = [];

  write(bytes: Buffer): void {
    this.writes += 1;
    if (this.isHeld) this.#held.push(bytes);
    else this.#taken.push(Buffer.from(bytes));
  }

  get unwrittenBytes(): number {
    return this.#held.reduce((sum, { length }) => sum + length, 0);
  }

  fellBehind(): void {
    this.reports += 1;
    const { onBehind } = this;
    this.onBehind = () => {};
    onBehind();
  }

  release(): void {
    this.isHeld = false;
    this.#taken.push(...this.#held.splice(0).map((bytes) => Buffer.from(bytes)));
  }

  /** Memory that the held writes keep alive. */
  get pinnedBytes(): number {
    return [...new Set(this.#held.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  events(): Promise<FrameEvent[]> {
    return readWithWs(Buffer.concat(this.#taken), true);
  }
}

test('writes frames that the server parser of ws reads, at every form of the length', async () => {
  const outbox = new WebSocketOutbox();
  const target = new Target();
  const expected: FrameEvent[] = [];
  for (const size of [0, 1, 125, 126, 127, 32_000, 32_760, 32_768, 65_535, 65_536, 1 << 20]) {
    const data = Buffer.alloc(size, `${size}`);
    outbox.send(target, TEXT, data);
    outbox.send(target, BINARY, data);
    expected.push({ kind: 'text', data }, { kind: 'binary', data });
  }
  outbox.send(target, PING, Buffer.from('p'));
  outbox.send(target, PONG, Buffer.alloc(125, 'q'));
  outbox.send(target, CLOSE, Buffer.from([3, 232, 0x62, 0x79, 0x65]));
  expected.push({ kind: 'ping', data: Buffer.from('p') }, { kind: 'pong', data: Buffer.alloc(125, 'q') });
  expected.push({ kind: 'close', data: Buffer.from('bye'), code: 1000 });
  await turn();
  assert.deepEqual(await target.events(), expected);
});

test('writes what one relay sends in one turn of the loop at once, at its end', async () => {
  const outbox = new WebSocketOutbox();
  const target = new Target();
  for (let index = 0; index < 100; index++) outbox.send(target, TEXT, Buffer.from(`m${index}`));
  assert.equal(target.writes, 0, 'before the end of the turn');
  await turn();
  assert.equal(target.writes, 1);
  assert.equal((await target.events()).length, 100);
  outbox.send(target, TEXT, Buffer.from('later'));
  await turn();
  assert.equal(target.writes, 2);
});

test('copies the payload at once', async () => {
  const outbox = new WebSocketOutbox();
  const target = new Target();
  const small = Buffer.from('small');
  const large = Buffer.alloc(100_000, 'l');
  target.isHeld = true;
  outbox.send(target, TEXT, small);
  outbox.send(target, TEXT, large);
  small.fill('x');
  large.fill('x');
  target.release();
  await turn();
  assert.deepEqual(
    (await target.events()).map(({ data }) => data.toString().slice(0, 5)),
    ['small', 'lllll'],
  );
});

test('keeps the order of small and large frames, and writes for all relays when the turn ends', async () => {
  const outbox = new WebSocketOutbox();
  const [one, two] = [new Target(), new Target()];
  outbox.send(one, TEXT, Buffer.from('a'));
  outbox.send(one, TEXT, Buffer.alloc(50_000, 'b'));
  outbox.send(one, TEXT, Buffer.from('c'));
  outbox.send(two, TEXT, Buffer.from('other'));
  outbox.send(one, TEXT, Buffer.from('d'));
  assert.equal(one.writes, 2, 'the large frame is written, and what was before it');
  assert.equal(two.writes, 0, 'before the end of the turn');
  await turn();
  assert.equal((await one.events()).map(({ data }) => data.toString()[0]).join(''), 'abcd');
  assert.equal((await two.events())[0]!.data.toString(), 'other');
});

test('reports each write that leaves bytes unwritten, and no other', async () => {
  const outbox = new WebSocketOutbox();
  const target = new Target();
  outbox.send(target, TEXT, Buffer.from('a'));
  await turn();
  assert.equal(target.reports, 0);
  target.isHeld = true;
  outbox.send(target, TEXT, Buffer.from('b'));
  await turn();
  assert.equal(target.reports, 1);
  outbox.send(target, TEXT, Buffer.alloc(100_000));
  assert.equal(target.reports, 2, 'a large frame is written at once');
});

test('what a relay sends because it fell behind goes behind what was queued, and overwrites nothing', async () => {
  const outbox = new WebSocketOutbox();
  const [one, two] = [new Target(), new Target()];
  one.isHeld = true;
  one.onBehind = () => outbox.send(one, CLOSE, Buffer.from([3, 245]));
  outbox.send(one, TEXT, Buffer.from('a'));
  outbox.send(two, TEXT, Buffer.from('other'));
  await turn();
  await turn();
  one.release();
  const close = { kind: 'close', data: Buffer.alloc(0), code: 1013 };
  assert.deepEqual(await one.events(), [{ kind: 'text', data: Buffer.from('a') }, close]);
  assert.deepEqual(await two.events(), [{ kind: 'text', data: Buffer.from('other') }]);
});

test('a slow app with small messages does not pin large buffers', async () => {
  const outbox = new WebSocketOutbox();
  const target = new Target();
  const other = new Target();
  target.isHeld = true;
  for (let index = 0; index < 1000; index++) {
    outbox.send(target, TEXT, Buffer.from('0123456789'));
    outbox.send(other, TEXT, Buffer.alloc(30_000));
    await turn();
  }
  assert.equal(target.unwrittenBytes, 16_000);
  assert.ok(target.pinnedBytes < 300_000, `${target.pinnedBytes} bytes are kept for 16,000`);
});

for (const seed of [1, 2, 3, 4]) {
  test(`loses, mixes and overwrites nothing among relays that come and go behind (seed ${seed})`, async () => {
    const random = new Random(seed);
    const outbox = new WebSocketOutbox();
    const targets = Array.from({ length: 5 }, () => ({ target: new Target(), sent: [] as FrameEvent[] }));
    for (let step = 0; step < 3000; step++) {
      const { target, sent } = random.pick(targets);
      if (random.chance(0.05)) target.isHeld = true;
      if (random.chance(0.05)) target.release();
      if (random.chance(0.2)) await turn();
      const size = random.between(0, random.pick([20, 200, 5000, random.chance(0.1) ? 90_000 : 100]));
      const data = Buffer.alloc(size, `${step} `);
      const isText = random.chance(0.5);
      outbox.send(target, isText ? TEXT : BINARY, data);
      sent.push({ kind: isText ? 'text' : 'binary', data });
    }
    await turn();
    for (const { target, sent } of targets) {
      target.release();
      assert.deepEqual(await target.events(), sent);
    }
  });
}
