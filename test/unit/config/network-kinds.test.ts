import assert from 'node:assert/strict';
import { BlockList, isIPv6 } from 'node:net';
import { test } from 'node:test';
import type { Kind } from '../../../src/config/kind.ts';
import {
  bindAddress,
  headerName,
  hostName,
  port,
  redisUrl,
  requestPath,
  statusRanges,
  strictTransportSecurity,
  trustProxy,
} from '../../../src/config/network-kinds.ts';

function refusesAll(kind: Kind<unknown>, inputs: readonly string[]): void {
  for (const input of inputs) assert.throws(() => kind.parse(input), Error, JSON.stringify(input));
}

test('a port is a whole number up to 65535, and 0 only where it means something', () => {
  assert.equal(port('any free port').parse('0'), 0);
  assert.equal(port().parse('1'), 1);
  assert.equal(port().parse('65535'), 65_535);
  refusesAll(port(), [
    '0',
    '65536',
    '12abc',
    '8080.0',
    '-1',
    '+80',
    '0x50',
    '1e3',
    '080',
    '',
    'http',
    '\\\\.\\pipe\\x',
  ]);
  refusesAll(port('any free port'), ['tcp://10.0.0.1:80', '99999999999999999999']);
});

test('a host name is taken in any case, without scheme, port or path', () => {
  assert.equal(hostName.parse('WWW.Example.com'), 'www.example.com');
  assert.equal(hostName.parse('localhost'), 'localhost');
  assert.equal(hostName.parse('xn--bcher-kva.example'), 'xn--bcher-kva.example');
  refusesAll(hostName, [
    'https://example.com',
    'example.com:443',
    'example.com/',
    'example.com.',
    '.example.com',
    'a..b',
    '-a.com',
    'a-.com',
    'a_b.com',
    'a b',
    'bücher.example',
    '*.example.com',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(127)}com`,
    '[::1]',
  ]);
});

test('an address to bind is an IP address or a name', () => {
  for (const input of ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost']) assert.equal(bindAddress.parse(input), input);
  assert.equal(bindAddress.parse('[::1]'), '::1');
  refusesAll(bindAddress, ['*', '127.0.0.256', '1.2.3', '127.0.0.1:80', 'http://x', '[localhost]', ':::1', '']);
});

test('a header name is a token, in lower case', () => {
  assert.equal(headerName.parse('CF-Connecting-IP'), 'cf-connecting-ip');
  refusesAll(headerName, ['', 'X Header', 'X:', 'X-Ünicode', 'a,b', 'a\r\nb', '(x)']);
});

test('statuses are numbers and ranges by comma', () => {
  assert.deepEqual(statusRanges.parse('200-399,404'), [
    { from: 200, to: 399 },
    { from: 404, to: 404 },
  ]);
  assert.deepEqual(statusRanges.parse(' 204 '), [{ from: 204, to: 204 }]);
  assert.equal(statusRanges.format(statusRanges.parse('200 - 399, 404')), '200-399,404');
  refusesAll(statusRanges, ['2xx', '99', '600', '200-', '-299', '399-200', '200-299-399', '200..299', ',', '2000']);
});

test('a request path starts with a slash and is as it stands on the request line', () => {
  for (const input of ['/', '/health', '/a/b.c~d', '/%C3%BC', "/a;b=c,d!$&'()*+:@"]) {
    assert.equal(requestPath(false).parse(input), input);
  }
  assert.equal(requestPath(true).parse('/ready?full=1'), '/ready?full=1');
  refusesAll(requestPath(false), ['health', '', '/a b', '/ü', '/a?b', '/a#b', '/a\nb', '/"', '/<>', 'http://x/']);
  refusesAll(requestPath(true), ['?a', '/a#b', '/a b']);
});

test('an HSTS value has max-age and nothing that is unsafe in a header', () => {
  for (const input of [
    'max-age=0',
    'max-age=31536000; includeSubDomains; preload',
    'Max-Age="31536000" ; includeSubDomains',
    'includeSubDomains;max-age=1;',
  ]) {
    assert.equal(strictTransportSecurity.parse(input), input);
  }
  refusesAll(strictTransportSecurity, [
    'on',
    '31536000',
    'includeSubDomains',
    'max-age',
    'max-age=',
    'max-age=1y',
    'max-age=-1',
    'max-age="1',
    'max-age=1; max-age=2',
    'max-age=1, includeSubDomains',
    'max-age=1\r\nX-Evil: 1',
    'max-age=1; é',
    'max-age=1; x="a\u0000"',
  ]);
});

test('trust is a word, or addresses and ranges that a BlockList takes', () => {
  assert.deepEqual(trustProxy.parse('auto'), { kind: 'auto' });
  assert.deepEqual(trustProxy.parse('ALL'), { kind: 'all' });
  assert.deepEqual(trustProxy.parse('None'), { kind: 'none' });
  const trust = trustProxy.parse('10.0.0.0/8, 192.168.1.1,::1, 2001:db8::/32,0.0.0.0/0');
  assert.ok(trust.kind === 'list');
  assert.deepEqual(trust.addresses, ['10.0.0.0/8', '192.168.1.1', '::1', '2001:db8::/32', '0.0.0.0/0']);
  const blockList = new BlockList();
  for (const entry of trust.addresses) {
    const [address, bits] = entry.split('/') as [string, string | undefined];
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    blockList.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  assert.equal(trustProxy.format(trust), '10.0.0.0/8,192.168.1.1,::1,2001:db8::/32,0.0.0.0/0');
  refusesAll(trustProxy, [
    'true',
    'auto,10.0.0.0/8',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0',
    '10.0.0.0/a',
    'fe80::1%eth0',
    'proxy.example',
    ',',
  ]);
});

test('a Redis is named by a URL with at most the number of a database', () => {
  for (const input of ['redis://a', 'redis://a:6379/', 'rediss://user:secret@a.example:6380/15', 'redis://[::1]/0']) {
    assert.equal(redisUrl.parse(input), input);
  }
  refusesAll(redisUrl, ['a:6379', 'http://a', 'redis://', 'redis:///tmp/a.sock', 'redis://a/name', 'redis://a/1/2']);
});
