import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatByteSize, parseByteSize } from '../../../src/lib/byte-size.ts';

test('a size is a whole number of bytes, or of 1024-based units in any case', () => {
  assert.equal(parseByteSize('0'), 0);
  assert.equal(parseByteSize('512'), 512);
  assert.equal(parseByteSize('64kb'), 65_536);
  assert.equal(parseByteSize('64KB'), 65_536);
  assert.equal(parseByteSize('16mb'), 16_777_216);
  assert.equal(parseByteSize('1gb'), 1_073_741_824);
});

test('what is no size is refused', () => {
  for (const text of ['', 'kb', '-1', '1.5mb', '1 mb', '1m', '1kib', '1tb', '12abc', '0x10', '1e3']) {
    assert.throws(() => parseByteSize(text), /is not a size/, text);
  }
});

test('a size is shown in its largest exact unit', () => {
  for (const text of ['0', '512', '1500', '4kb', '64kb', '16mb', '1gb']) {
    assert.equal(formatByteSize(parseByteSize(text)), text);
  }
});
