import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepts, chunkedResponse as chunked, parseResponse, refuses } from '../../helpers/parse-response.ts';

const OK = 'HTTP/1.1 200 OK\r\n';

const smallHead = { limits: { maxHeadBytes: 64, maxInterimResponses: 3 } };
const headOfBytes = (count: number) => `${OK}Content-Length: 0\r\nX: ${'x'.repeat(count - 43)}\r\n\r\n`;
accepts('takes a head of as many bytes as are allowed', headOfBytes(64), { consumed: 64 }, smallHead);
refuses('refuses a head of one byte more', headOfBytes(65), /larger than 64/, smallHead);
refuses(
  'refuses a head without an end as soon as it is too large',
  headOfBytes(100).slice(0, 65),
  /larger than 64/,
  smallHead,
);
accepts(
  'takes a large body behind the largest head',
  `${headOfBytes(64).replace('Length: 0', 'Length: 9')}123456789`,
  { body: '123456789' },
  smallHead,
);
const trailersOfBytes = (count: number) => `0\r\nX: ${'x'.repeat(count - 7)}\r\n\r\n`;
accepts('takes trailers of as many bytes as are allowed', chunked(trailersOfBytes(64)), { body: '' }, smallHead);
refuses('refuses trailers of one byte more', chunked(trailersOfBytes(65)), /too large/, smallHead);
refuses(
  'refuses trailers without an end as soon as they are too large',
  chunked(`0\r\n${'X: 1\r\n'.repeat(11)}`),
  /too large/,
  smallHead,
);
test('reads a chunk extension of 4095 bytes, and refuses a longer one', () => {
  const extended = (bytes: number) => chunked(`1;${'x'.repeat(bytes - 1)}\r\na\r\n1;x\r\na\r\n0\r\n\r\n`);
  assert.ok('status' in parseResponse(extended(4095)));
  assert.deepEqual(parseResponse(extended(4096)), { refused: 'a chunk extension is too long' });
});
test('reads a size line filled up with 4095 blanks, and refuses a longer one', () => {
  const filled = (bytes: number) => chunked(`1${' '.repeat(bytes)}\r\na\r\n0\r\n\r\n`);
  assert.ok('status' in parseResponse(filled(4095)));
  assert.deepEqual(parseResponse(filled(4096)), { refused: 'a chunk size line is too long' });
});

const KIB_250 = 250 * 1024;
const LARGE_HEADS: Record<string, string> = {
  'one long value': `X-Long: ${'v'.repeat(KIB_250)}\r\n`,
  'one long value of bytes above 0x7F': `X-Long: ${'\xe4'.repeat(KIB_250)}\r\n`,
  'one long name': `${'n'.repeat(KIB_250)}: v\r\n`,
  'the shortest of lines': 'a:\r\n'.repeat(KIB_250 / 4),
  'thousands of short lines': Array.from({ length: 12_000 }, (_, index) => `X-${index}: ${index}\r\n`).join(''),
  'a value of blanks only': `X-Blank:${' '.repeat(KIB_250)}\r\n`,
};
for (const [what, lines] of Object.entries(LARGE_HEADS)) {
  test(`reads a head of 250 KB that is ${what}, in one read and in many`, () => {
    const bytes = `${OK}${lines}Content-Length: 2\r\n\r\nok`;
    const whole = parseResponse(bytes);
    assert.ok('status' in whole);
    assert.equal(whole.fields, lines.slice(0, -2));
    assert.equal(whole.body, 'ok');
    const steps = Array.from({ length: Math.floor(bytes.length / 61) }, (_, index) => (index + 1) * 61);
    assert.deepEqual(parseResponse(bytes, { cuts: steps }), whole);
  });
}
// Each of these took seconds with a reader that is quadratic; one that is not has no trouble with a thousand of them.
const HOSTILE_HEADS: Record<string, string> = {
  'blanks within a Content-Length': `Content-Length: 1${' '.repeat(KIB_250)}1\r\n`,
  'blanks within a Transfer-Encoding': `Transfer-Encoding: a${' '.repeat(KIB_250)}b\r\n`,
  'a control byte behind a long value': `X-Long: ${'v'.repeat(KIB_250)}\x01\r\n`,
  'a bad line behind thousands of good ones': `${'a:\r\n'.repeat(KIB_250 / 4)}bad\r\n`,
};
for (const [what, lines] of Object.entries(HOSTILE_HEADS)) {
  test(`refuses a head of 250 KB with ${what}`, () => {
    assert.ok('refused' in parseResponse(`${OK}${lines}Content-Length: 0\r\n\r\n`));
  });
}
test('reads a Connection that names thousands of fields before thousands of lines', () => {
  const names = Array.from({ length: 12_000 }, (_, index) => `n${index}`);
  const lines = Array.from({ length: 12_000 }, (_, index) => `m${index}:\r\n`);
  const whole = parseResponse(`${OK}Connection: ${names}\r\n${lines.join('')}n1: gone\r\nContent-Length: 0\r\n\r\n`);
  assert.ok('status' in whole, JSON.stringify(whole).slice(0, 200));
  assert.equal(whole.fields, lines.join('').slice(0, -2));
});
test('reads a Connection and a Keep-Alive of blanks and commas', () => {
  const filling = ' ,'.repeat(30_000);
  const whole = parseResponse(
    `${OK}Connection: ${filling}\r\nKeep-Alive: ${filling}timeout=7\r\nContent-Length: 0\r\n\r\n`,
  );
  assert.ok('status' in whole);
  assert.equal(whole.keepAliveTimeout, 7);
});
test('reads trailers of 250 KB byte by byte', () => {
  const bytes = chunked(`0\r\nX-Long: ${'v'.repeat(KIB_250 / 2)}\r\n${'a:\r\n'.repeat(KIB_250 / 8)}\r\n`);
  const each = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
  assert.ok('status' in parseResponse(bytes, { cuts: each }));
});
