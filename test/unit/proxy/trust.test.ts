import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UwsrpError } from '../../../src/lib/errors.ts';
import { createTrust } from '../../../src/proxy/trust.ts';

const AUTO_TRUSTED = [
  '10.0.0.0',
  '10.255.255.255',
  '172.16.0.0',
  '172.31.255.255',
  '192.168.0.0',
  '192.168.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '100.64.0.0',
  '100.127.255.255',
  '::1',
  'fe80::1',
  'febf::1',
  'fc00::1',
  'fdaa:0:1::3',
  '::ffff:10.1.2.3',
  '::ffff:a01:203',
];

const AUTO_STRANGERS = [
  '9.255.255.255',
  '11.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '0.0.0.0',
  '::',
  '::2',
  'fec0::1',
  'fbff::1',
  'fe00::1',
  '2001:db8::1',
  '::ffff:192.0.2.1',
];

const NO_ADDRESS = ['', 'unknown', 'localhost', '10.0.0', '10.0.0.1:80', '10.0.0.1, 10.0.0.2', '[::1]', 'fe80::1%'];

const auto = createTrust({ kind: 'auto' }, { endsTls: false });
const listed = (...addresses: string[]) => createTrust({ kind: 'list', addresses }, { endsTls: false });

for (const peer of AUTO_TRUSTED) test(`auto believes ${peer}`, () => assert.equal(auto(peer), true));
for (const peer of AUTO_STRANGERS) test(`auto does not believe ${peer}`, () => assert.equal(auto(peer), false));
for (const peer of NO_ADDRESS) {
  test(`auto does not believe "${peer}", which is no address`, () => assert.equal(auto(peer), false));
}

test('auto believes nobody when TLS ends with us', () => {
  const trust = createTrust({ kind: 'auto' }, { endsTls: true });
  for (const peer of AUTO_TRUSTED) assert.equal(trust(peer), false, peer);
});

test('all believes everybody, none nobody', () => {
  const all = createTrust({ kind: 'all' }, { endsTls: true });
  const none = createTrust({ kind: 'none' }, { endsTls: false });
  for (const peer of [...AUTO_TRUSTED, ...AUTO_STRANGERS]) {
    assert.equal(all(peer), true, peer);
    assert.equal(none(peer), false, peer);
  }
});

test('a list believes its addresses and ranges and nobody else, loopback included', () => {
  const trust = listed('203.0.113.7', '198.51.100.0/24', '2001:db8::/32', '2001:DB9::1');
  for (const peer of ['203.0.113.7', '198.51.100.0', '198.51.100.255', '2001:db8:ffff::1', '2001:db9:0::1']) {
    assert.equal(trust(peer), true, peer);
  }
  for (const peer of ['203.0.113.8', '198.51.101.0', '2001:db9::2', '127.0.0.1', '::1', '10.0.0.1', '']) {
    assert.equal(trust(peer), false, peer);
  }
});

test('a list holds when TLS ends with us', () => {
  const trust = createTrust({ kind: 'list', addresses: ['203.0.113.7'] }, { endsTls: true });
  assert.equal(trust('203.0.113.7'), true);
});

test('an IPv4 entry matches the IPv4-mapped spelling of a peer, and the other way round', () => {
  assert.equal(listed('203.0.113.7')('::ffff:203.0.113.7'), true);
  assert.equal(listed('203.0.113.0/24')('::ffff:203.0.113.7'), true);
  assert.equal(listed('::ffff:203.0.113.7')('203.0.113.7'), true);
  assert.equal(listed('::ffff:203.0.113.0/120')('203.0.113.7'), true);
  assert.equal(listed('::ffff:203.0.113.0/120')('203.0.114.7'), false);
});

test('bits of a range beyond its prefix do not count', () => {
  assert.equal(listed('10.1.2.3/8')('10.9.9.9'), true);
});

test('/0 believes everybody of its family, and that of IPv6 covers IPv4', () => {
  assert.equal(listed('0.0.0.0/0')('203.0.113.7'), true);
  assert.equal(listed('0.0.0.0/0')('2001:db8::1'), false);
  assert.equal(listed('::/0')('2001:db8::1'), true);
  assert.equal(listed('::/0')('203.0.113.7'), true);
});

test('an empty list believes nobody', () => {
  assert.equal(listed()('127.0.0.1'), false);
});

const BAD_ENTRIES = ['', 'localhost', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/0x8'];
for (const entry of [...BAD_ENTRIES, '::/129', '10.0.0', 'fe80::1%eth0', '[::1]', '10.0.0.0/ 8', '10.0.0.0/1.5']) {
  test(`a list refuses the entry "${entry}", naming the variable and the entry`, () => {
    assert.throws(
      () => listed('127.0.0.1', entry),
      (error) =>
        error instanceof UwsrpError &&
        error.code === 'CONFIG_INVALID' &&
        error.message.includes('UWSRP_TRUST_PROXY') &&
        error.message.includes(`"${entry}"`),
    );
  });
}

test('gives the same answers to more peers than it remembers, asked in turns', () => {
  const trust = listed('10.0.0.0/9');
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 3000; n++) {
      const low = `${n >> 8}.${n & 255}`;
      assert.equal(trust(`10.1.${low}`), true);
      assert.equal(trust(`10.200.${low}`), false);
    }
  }
});
