import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../../../src/proxy/ip-address.ts';

const READ: [text: string, address: string][] = [
  ['192.0.2.1', '192.0.2.1'],
  [' 192.0.2.1\t', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::192.0.2.1'],
  ['::', '::'],
];

const NO_ADDRESS = [
  '',
  ' ',
  'unknown',
  '_hidden',
  'a.example',
  '192.0.2',
  '192.0.2.256',
  '192.0.2.01',
  '192.0.2.1, 192.0.2.2',
  '192.0.2.1:',
  '192.0.2.1:http',
  '192.0.2.1:123456',
  '192.0.2.1:80:80',
  '[192.0.2.1',
  '[2001:db8::1',
  '[2001:db8::1]80',
  '[2001:db8::1]:x',
  '2001:db8::1]',
  'fe80::1%eth0',
  '"192.0.2.1"',
  '192.0.2.1\r\nX-Injected: 1',
];

for (const [text, address] of READ) {
  test(`reads "${text}" as the address ${address}`, () => {
    assert.equal(addressOf(text), address);
  });
}

for (const text of NO_ADDRESS) {
  test(`reads no address from ${JSON.stringify(text)}`, () => {
    assert.equal(addressOf(text), undefined);
  });
}
