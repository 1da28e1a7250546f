import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Envelope, encodeEnvelope, tryDecodeEnvelope } from '../../../src/native/envelope.ts';

const MESSAGE: Envelope = {
  sender: '000102030405060708090a0b0c0d0eff',
  sequence: 1,
  topic: 'news',
  data: Buffer.from('hello'),
  isBinary: false,
};

test('what is encoded comes out again', () => {
  const messages: Envelope[] = [
    MESSAGE,
    { ...MESSAGE, isBinary: true, data: Buffer.from([0, 255]), sequence: 2 ** 48 - 1 },
    { ...MESSAGE, topic: 'grüße/日本', data: Buffer.alloc(0) },
    { ...MESSAGE, topic: 'x'.repeat(70_000), data: Buffer.alloc(100_000, 7) },
  ];
  for (const message of messages) assert.deepEqual(tryDecodeEnvelope(encodeEnvelope(message)), message);
});

test('what is no envelope is none', () => {
  const whole = encodeEnvelope(MESSAGE);
  // A part that ends behind the topic is a message with less data, which only Redis could make of it.
  for (let length = 0; length < whole.length - MESSAGE.data.length; length += 1) {
    assert.equal(tryDecodeEnvelope(whole.subarray(0, length)), undefined, `${length} bytes`);
  }
  assert.equal(tryDecodeEnvelope(Buffer.from('something else, and long enough for a head')), undefined);
  assert.equal(tryDecodeEnvelope(Buffer.concat([Buffer.from([2]), whole.subarray(1)])), undefined, 'a later version');
});
