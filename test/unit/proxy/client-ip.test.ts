import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientIp } from '../../../src/proxy/client-ip.ts';
import type { ProxyRequest } from '../../../src/proxy/request.ts';
import { proxyRequest } from '../../helpers/proxy-request.ts';

const auto = createClientIp({ kind: 'auto' });

const FROM_TRUSTED: [what: string, differences: Partial<ProxyRequest>, address: string][] = [
  ['the peer when nothing is said', {}, '10.0.0.9'],
  ['the one entry', { forwardedFor: '203.0.113.7' }, '203.0.113.7'],
  ['the rightmost entry, not what the client wrote', { forwardedFor: '1.1.1.1, 203.0.113.7' }, '203.0.113.7'],
  ['the entry left of trusted hops', { forwardedFor: '1.1.1.1, 203.0.113.7, 10.0.0.3, 127.0.0.1' }, '203.0.113.7'],
  ['the leftmost of trusted hops only', { forwardedFor: '192.168.0.5, 10.0.0.3' }, '192.168.0.5'],
  ['an IPv6 entry', { forwardedFor: '1.1.1.1,2001:db8::7' }, '2001:db8::7'],
  ['an entry without its port', { forwardedFor: '203.0.113.7:4711' }, '203.0.113.7'],
  ['a bracketed entry without its port', { forwardedFor: '[2001:db8::7]:4711, [::1]:1' }, '2001:db8::7'],
  ['an IPv4-mapped entry as IPv4', { forwardedFor: '::ffff:203.0.113.7' }, '203.0.113.7'],
  ['nothing left of an entry that is no address', { forwardedFor: '203.0.113.7, unknown, 10.0.0.3' }, '10.0.0.3'],
  ['the peer when the rightmost entry is no address', { forwardedFor: '203.0.113.7, unknown' }, '10.0.0.9'],
  ['an entry past empty ones', { forwardedFor: ', 203.0.113.7, , ,' }, '203.0.113.7'],
  ['the peer when the list is empty', { forwardedFor: '' }, '10.0.0.9'],
  ['the peer when the list has empty entries only', { forwardedFor: ', ,' }, '10.0.0.9'],
  ['X-Real-IP when there is no list', { realIp: '203.0.113.8' }, '203.0.113.8'],
  ['the list rather than X-Real-IP', { forwardedFor: '203.0.113.7', realIp: '203.0.113.8' }, '203.0.113.7'],
  ['the peer when X-Real-IP is no address', { realIp: 'unknown' }, '10.0.0.9'],
  ["the client address field's", { clientIp: '203.0.113.9', forwardedFor: '203.0.113.7' }, '203.0.113.9'],
  ['the list when that field is no address', { clientIp: 'x', forwardedFor: '203.0.113.7' }, '203.0.113.7'],
  ['the list when that field is empty', { clientIp: '', forwardedFor: '203.0.113.7' }, '203.0.113.7'],
  ['the list when that field came twice', { clientIp: '1.1.1.1, 2.2.2.2', forwardedFor: '203.0.113.7' }, '203.0.113.7'],
];
for (const [what, differences, address] of FROM_TRUSTED) {
  test(`behind a trusted peer the client is ${what}`, () => {
    assert.equal(auto(proxyRequest(differences), true), address);
  });
}

test('a stranger is the client, whatever it says', () => {
  const request = proxyRequest({
    peer: '198.51.100.1',
    forwardedFor: '203.0.113.7',
    realIp: '203.0.113.8',
    clientIp: '203.0.113.9',
  });
  assert.equal(auto(request, false), '198.51.100.1');
});

test('with trust in all the hops are private addresses, so that the client cannot choose its own', () => {
  const all = createClientIp({ kind: 'all' });
  assert.equal(all(proxyRequest({ forwardedFor: '1.1.1.1, 203.0.113.7, 10.0.0.3' }), true), '203.0.113.7');
});

test('with a list the hops are its addresses', () => {
  const listed = createClientIp({ kind: 'list', addresses: ['198.51.100.0/24'] });
  const forwardedFor = '1.1.1.1, 10.0.0.3, 198.51.100.4';
  assert.equal(listed(proxyRequest({ peer: '198.51.100.1', forwardedFor }), true), '10.0.0.3');
});

test('a list of many thousand entries is walked to its end', () => {
  const forwardedFor = `203.0.113.7, ${Array(10_000).fill('10.0.0.3').join(',')}`;
  assert.equal(auto(proxyRequest({ forwardedFor }), true), '203.0.113.7');
});
