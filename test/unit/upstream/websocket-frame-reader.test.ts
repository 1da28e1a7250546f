import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT } from '../../../src/upstream/websocket-frame.ts';
import { WebSocketFrameReader } from '../../../src/upstream/websocket-frame-reader.ts';
import { Random } from '../../helpers/random.ts';
import { closePayload, type FrameEvent, type FrameOptions, frame, readWithWs } from '../../helpers/websocket-frames.ts';

const MAX = 100_000;
const NONE = Buffer.alloc(0);

/** Reads the bytes in pieces through one buffer that is overwritten after each call, as the socket's is. */
function read(pieces: readonly Buffer[], maxMessageBytes = MAX): FrameEvent[] {
  const events: FrameEvent[] = [];
  const add = (kind: FrameEvent['kind'], data: Buffer, code?: number) =>
    events.push(code === undefined ? { kind, data: Buffer.from(data) } : { kind, data: Buffer.from(data), code });
  const reader = new WebSocketFrameReader(
    {
      message: (data, isBinary) => add(isBinary ? 'binary' : 'text', data),
      ping: (data) => add('ping', data),
      pong: (data) => add('pong', data),
      closeFrame: (code, reason) => add('close', reason, code ?? 1005),
      violation: (code) => add('error', NONE, code),
    },
    maxMessageBytes,
  );
  const shared = Buffer.alloc(Math.max(1, ...pieces.map((piece) => piece.length)));
  for (const piece of pieces) {
    piece.copy(shared);
    reader.read(shared, piece.length);
    shared.fill(0xee);
  }
  return events;
}

function splitAt(bytes: Buffer, ...offsets: number[]): Buffer[] {
  const ends = [...offsets, bytes.length];
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

const text = (data: string): FrameEvent => ({ kind: 'text', data: Buffer.from(data) });

test('reads text, binary, ping, pong and close, with every form of the length', () => {
  for (const size of [0, 1, 125, 126, 127, 65535, 65536, MAX]) {
    const payload = Buffer.alloc(size, 'a');
    assert.deepEqual(read([frame(TEXT, payload)]), [{ kind: 'text', data: payload }], `${size} bytes of text`);
    assert.deepEqual(read([frame(BINARY, payload)]), [{ kind: 'binary', data: payload }], `${size} bytes`);
  }
  for (const lengthBytes of [2, 8] as const) {
    assert.deepEqual(read([frame(TEXT, 'hi', { lengthBytes })]), [text('hi')], `a long form in ${lengthBytes} bytes`);
  }
  assert.deepEqual(read([frame(PING, 'p')]), [{ kind: 'ping', data: Buffer.from('p') }]);
  assert.deepEqual(read([frame(PONG, NONE)]), [{ kind: 'pong', data: NONE }]);
  assert.deepEqual(read([frame(CLOSE, NONE)]), [{ kind: 'close', data: NONE, code: 1005 }]);
  assert.deepEqual(read([frame(CLOSE, closePayload(4000, 'é'))]), [
    { kind: 'close', data: Buffer.from('é'), code: 4000 },
  ]);
});

test('gives the same events wherever one or two cuts fall', () => {
  const bytes = Buffer.concat([
    frame(TEXT, 'one'),
    frame(BINARY, Buffer.alloc(130, 1)),
    frame(TEXT, 'to', { isFinal: false }),
    frame(PING, 'in between'),
    frame(CONTINUATION, 'geth', { isFinal: false }),
    frame(CONTINUATION, 'er'),
    frame(BINARY, 'wide', { lengthBytes: 8 }),
    frame(CLOSE, closePayload(1000, 'bye')),
  ]);
  const whole = read([bytes]);
  assert.deepEqual(
    whole.map(({ kind }) => kind),
    ['text', 'binary', 'ping', 'text', 'binary', 'close'],
  );
  assert.deepEqual(whole[3], text('together'));
  for (let first = 1; first < bytes.length; first++) {
    assert.deepEqual(read(splitAt(bytes, first)), whole, `cut at ${first}`);
    for (let second = first + 1; second < bytes.length; second += 7) {
      assert.deepEqual(read(splitAt(bytes, first, second)), whole, `cut at ${first} and ${second}`);
    }
  }
  assert.deepEqual(read(Array.from(bytes, (byte) => Buffer.from([byte]))), whole, 'byte by byte');
});

test('joins a message of very many fragments, empty ones too', () => {
  const pieces = [frame(TEXT, '', { isFinal: false })];
  for (let index = 0; index < 20_000; index++) {
    pieces.push(frame(CONTINUATION, index % 3 === 0 ? '' : 'x', { isFinal: false }));
  }
  pieces.push(frame(CONTINUATION, '!'));
  const [message, ...rest] = read([Buffer.concat(pieces)]);
  assert.equal(message!.data.toString(), `${'x'.repeat(13_333)}!`.slice(0, message!.data.length));
  assert.equal(message!.data.length, 13_334);
  assert.deepEqual(rest, []);
});

const WRONG: readonly [what: string, code: number, bytes: Buffer][] = [
  ['a reserved bit (compression that was not offered)', 1002, frame(TEXT, 'a', { reserved: 0x40 })],
  ['the second reserved bit', 1002, frame(TEXT, 'a', { reserved: 0x20 })],
  ['the third reserved bit of a ping', 1002, frame(PING, 'a', { reserved: 0x10 })],
  ['opcode 3', 1002, frame(3, 'a')],
  ['opcode 7', 1002, frame(7, 'a')],
  ['opcode 11', 1002, frame(11, 'a')],
  ['opcode 15', 1002, frame(15, 'a')],
  ['a masked frame', 1002, frame(TEXT, 'a', { isMasked: true })],
  ['a fragmented ping', 1002, frame(PING, 'a', { isFinal: false })],
  ['a fragmented close', 1002, frame(CLOSE, closePayload(1000), { isFinal: false })],
  ['a ping of 126 bytes', 1002, frame(PING, Buffer.alloc(126))],
  ['a continuation without a beginning', 1002, frame(CONTINUATION, 'a')],
  ['a message within another', 1002, Buffer.concat([frame(TEXT, 'a', { isFinal: false }), frame(TEXT, 'b')])],
  ['a 64-bit length with its highest bit', 1002, Buffer.from([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1])],
  ['a 64-bit length beyond all memory', 1009, Buffer.from([0x82, 127, 0, 0xff, 0, 0, 0, 0, 0, 1])],
  ['a message over the limit', 1009, frame(BINARY, Buffer.alloc(MAX + 1))],
  [
    'fragments over the limit',
    1009,
    Buffer.concat([frame(BINARY, Buffer.alloc(MAX), { isFinal: false }), frame(CONTINUATION, 'x')]),
  ],
  ['text that is not UTF-8', 1007, frame(TEXT, Buffer.from([0x61, 0xff]))],
  ['text with a surrogate', 1007, frame(TEXT, Buffer.from([0xed, 0xa0, 0x80]))],
  ['text that ends within a character', 1007, frame(TEXT, Buffer.from([0xe2, 0x82]))],
  [
    'fragments that are not UTF-8 together',
    1007,
    Buffer.concat([frame(TEXT, Buffer.from([0xe2, 0x82]), { isFinal: false }), frame(CONTINUATION, 'a')]),
  ],
  ['a close of one byte', 1002, frame(CLOSE, 'a')],
  ['a close reason that is not UTF-8', 1007, frame(CLOSE, closePayload(1000, Buffer.from([0xff])))],
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535].map(
    (code) => [`close code ${code}`, 1002, frame(CLOSE, closePayload(code))] as [string, number, Buffer],
  ),
];

for (const [what, code, bytes] of WRONG) {
  test(`refuses ${what} with ${code}, and reads nothing after it`, () => {
    const after = frame(TEXT, 'after');
    const expected = [{ kind: 'error', data: NONE, code }];
    assert.deepEqual(read([bytes, after]), expected);
    assert.deepEqual(read([Buffer.concat([bytes, after])]), expected);
    assert.deepEqual(read(Array.from(Buffer.concat([bytes, after]), (byte) => Buffer.from([byte]))), expected);
  });
}

test('refuses a wrong header before the payload has come', () => {
  assert.deepEqual(read([frame(3, 'abc').subarray(0, 2)]), [{ kind: 'error', data: NONE, code: 1002 }]);
  assert.deepEqual(read([frame(BINARY, Buffer.alloc(MAX + 1)).subarray(0, 10)]), [
    { kind: 'error', data: NONE, code: 1009 },
  ]);
});

test('accepts UTF-8 that is cut between fragments, and every valid close code', () => {
  const euro = Buffer.from('€');
  const bytes = [frame(TEXT, euro.subarray(0, 1), { isFinal: false }), frame(CONTINUATION, euro.subarray(1))];
  assert.deepEqual(read(bytes), [text('€')]);
  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]) {
    assert.deepEqual(read([frame(CLOSE, closePayload(code, 'r'))]), [{ kind: 'close', data: Buffer.from('r'), code }]);
  }
});

test('reads nothing after a close frame', () => {
  assert.deepEqual(read([Buffer.concat([frame(CLOSE, closePayload(1000)), frame(3, 'rubbish')])]), [
    { kind: 'close', data: NONE, code: 1000 },
  ]);
});

test('tells one frame alone from several and from a part', () => {
  const sink = { message() {}, ping() {}, pong() {}, closeFrame() {}, violation() {} };
  const reader = new WebSocketFrameReader(sink, MAX);
  const isOne = (bytes: Buffer) => reader.isOneFrame(bytes, bytes.length);
  for (const size of [0, 125, 126, 65535]) assert.equal(isOne(frame(BINARY, Buffer.alloc(size))), true, `${size}`);
  const short = frame(TEXT, 'abc');
  assert.equal(isOne(short.subarray(0, 1)), false);
  assert.equal(isOne(short.subarray(0, 4)), false);
  assert.equal(isOne(Buffer.concat([short, short])), false);
  assert.equal(isOne(frame(BINARY, Buffer.alloc(126)).subarray(0, 3)), false);
  reader.read(short, 3);
  assert.equal(isOne(short), false, 'with a part of another before it');
});

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`agrees with the parser of ws on random frames, sound and broken (seed ${seed})`, async () => {
    const random = new Random(seed);
    let errors = 0;
    for (let round = 0; round < 60; round++) {
      const bytes = randomFrames(random);
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += pieces.at(-1)!.length) {
        pieces.push(bytes.subarray(at, at + random.between(1, random.chance(0.5) ? 20 : 40_000)));
      }
      const events = await readWithWs(bytes, false, MAX);
      if (events.at(-1)?.kind === 'error') errors += 1;
      assert.deepEqual(read(pieces), events, `round ${round}`);
    }
    assert.ok(errors > 5 && errors < 55, `${errors} of 60 were broken`);
  });
}

function randomFrames(random: Random): Buffer {
  const frames: Buffer[] = [];
  let isInMessage = false;
  for (let count = random.between(1, 8); count > 0; count--) {
    const isControl = random.chance(0.3);
    const isFinal = isControl || random.chance(0.6);
    const opcode = isControl ? random.pick([PING, PONG]) : isInMessage ? CONTINUATION : random.pick([TEXT, BINARY]);
    if (!isControl) isInMessage = !isFinal;
    const size = random.between(0, isControl ? 125 : random.pick([10, 300, 70_000]));
    const payload = Buffer.alloc(size, random.chance(0.02) ? '\xff' : 'abc', 'latin1');
    const isWrong = random.chance(0.04);
    const options: FrameOptions = { isFinal, reserved: isWrong && random.chance(0.5) ? random.pick([16, 32, 64]) : 0 };
    frames.push(frame(isWrong ? random.between(0, 15) : opcode, payload, options));
  }
  if (random.chance(0.5)) {
    frames.push(frame(CLOSE, random.chance(0.2) ? '' : closePayload(random.between(995, 1024), 'why')));
  }
  return Buffer.concat(frames);
}
