import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFraming } from '../../../src/proxy/framing.ts';

test('a request with neither field has no body', () => {
  assert.deepEqual(requestFraming(undefined, undefined), { kind: 'none' });
});

const LENGTHS: [text: string, length: number][] = [
  ['0', 0],
  ['1', 1],
  ['10', 10],
  ['2147483648', 2 ** 31],
  ['4294967296', 2 ** 32],
  ['5000000000', 5e9],
  ['1000000000000000', 1e15],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
];
for (const [text, length] of LENGTHS) {
  test(`a Content-Length of ${text} is taken exactly`, () => {
    assert.deepEqual(requestFraming(text, undefined), { kind: 'length', length, text });
  });
}

for (const coding of ['chunked', 'Chunked', 'CHUNKED', 'cHuNkEd']) {
  test(`the Transfer-Encoding "${coding}" is chunked`, () => {
    assert.deepEqual(requestFraming(undefined, coding), { kind: 'chunked' });
  });
}

const BAD_LENGTHS: Record<string, string> = {
  'an empty value': '',
  'two different values': '5, 6',
  'two equal values': '5, 5',
  'two equal values without a blank': '5,5',
  'an empty value and a real one': ', 5',
  'a plus sign': '+5',
  'a minus sign': '-5',
  'a negative zero': '-0',
  'a hexadecimal number': '0x5',
  'an exponent': '5e0',
  'a fraction': '5.0',
  'two numbers': '5 5',
  'an underscore': '1_0',
  'leading zeros': '005',
  'two zeros': '00',
  'a blank in front': ' 5',
  'a blank behind': '5 ',
  'a tab behind': '5\t',
  'a vertical tab in front': '\v5',
  'a letter': '5a',
  'a word': 'foo',
  'a quoted number': '"5"',
  'a digit of another script': '\u0665',
  'a superscript digit': '\xb2',
  '2^53': '9007199254740992',
  '2^53 and one': '9007199254740993',
  'sixteen nines': '9999999999999999',
  'nineteen digits': '1000000000000000000',
  'twenty digits': '18446744073709551616',
  'a thousand digits': '1'.repeat(1000),
};
for (const [what, text] of Object.entries(BAD_LENGTHS)) {
  test(`a Content-Length with ${what} is refused`, () => {
    assert.deepEqual(requestFraming(text, undefined), {
      kind: 'invalid',
      reason: 'Content-Length is not a number',
    });
  });
}

const BAD_CODINGS: Record<string, string> = {
  nothing: '',
  'another coding': 'gzip',
  'another coding before chunked': 'gzip, chunked',
  'another coding after chunked': 'chunked, gzip',
  identity: 'identity',
  'identity after chunked': 'chunked, identity',
  'chunked twice': 'chunked, chunked',
  'a longer word': 'xchunked',
  'a word that begins with it': 'chunkedx',
  'a shorter word': 'chunke',
  'a blank behind': 'chunked ',
  'a blank in front': ' chunked',
  'a tab in front': '\tchunked',
  'a vertical tab in front': '\vchunked',
  'a parameter': 'chunked;q=1',
  'a quoted word': '"chunked"',
  'an empty element': 'chunked,',
  'a no-break space': '\xa0chunked',
  'a Kelvin sign for the k': 'chun\u212aed',
  'a char whose low bits are those of a letter': 'chunke\u0144',
  'a char that only the case bit tells from a letter': 'chunk\x05d',
};
for (const [what, coding] of Object.entries(BAD_CODINGS)) {
  test(`a Transfer-Encoding with ${what} is refused`, () => {
    assert.deepEqual(requestFraming(undefined, coding), {
      kind: 'invalid',
      reason: 'Transfer-Encoding is not "chunked"',
    });
  });
}

test('both fields together are refused, whatever they hold', () => {
  for (const [length, coding] of [
    ['5', 'chunked'],
    ['0', 'chunked'],
    ['', 'chunked'],
    ['5', ''],
    ['x', 'gzip'],
  ] as const) {
    assert.deepEqual(requestFraming(length, coding), {
      kind: 'invalid',
      reason: 'Content-Length and Transfer-Encoding together',
    });
  }
});
