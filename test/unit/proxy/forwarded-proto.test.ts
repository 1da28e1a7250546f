import assert from 'node:assert/strict';
import { test } from 'node:test';
import { believedProto, firstElement, type Proto, requestProto } from '../../../src/proxy/forwarded-proto.ts';
import { proxyRequest } from '../../helpers/proxy-request.ts';

const VALUES: [value: string | undefined, proto: Proto | undefined][] = [
  ['https', 'https'],
  ['http', 'http'],
  ['HTTPS', 'https'],
  ['Http', 'http'],
  ['https,http', 'https'],
  ['https, http', 'https'],
  ['http,https', 'http'],
  ['HTTP , https', 'http'],
  [' https ', 'https'],
  ['\thttps', 'https'],
  ['wss', 'https'],
  ['ws', 'http'],
  ['WSS, http', 'https'],
  [', https', 'https'],
  [' ,\t, http, https', 'http'],
  [undefined, undefined],
  ['', undefined],
  [' ', undefined],
  [',', undefined],
  ['ftp', undefined],
  ['ftp, https', undefined],
  ['"https"', undefined],
  ['https;http', undefined],
  ['https://', undefined],
  ['httpsx', undefined],
  ['on', undefined],
];

for (const [value, proto] of VALUES) {
  test(`believes ${proto ?? 'nothing'} when a trusted peer says ${JSON.stringify(value) ?? 'nothing'}`, () => {
    assert.equal(believedProto(proxyRequest({ forwardedProto: value }), true), proto);
  });

  test(`believes nothing when a stranger says ${JSON.stringify(value) ?? 'nothing'}`, () => {
    assert.equal(believedProto(proxyRequest({ forwardedProto: value }), false), undefined);
  });
}

test('the scheme of a request is the believed one, whatever the connection is', () => {
  assert.equal(requestProto(proxyRequest({ forwardedProto: 'https' }), true), 'https');
  assert.equal(requestProto(proxyRequest({ forwardedProto: 'http', isTls: true }), true), 'http');
});

test('the scheme of a request is that of the connection when nothing is believed', () => {
  assert.equal(requestProto(proxyRequest(), true), 'http');
  assert.equal(requestProto(proxyRequest({ isTls: true }), true), 'https');
  assert.equal(requestProto(proxyRequest({ forwardedProto: 'ftp', isTls: true }), true), 'https');
  assert.equal(requestProto(proxyRequest({ forwardedProto: 'https' }), false), 'http');
  assert.equal(requestProto(proxyRequest({ forwardedProto: 'http', isTls: true }), false), 'https');
});

test('the first element of a list is the first that is not empty', () => {
  assert.equal(firstElement('a'), 'a');
  assert.equal(firstElement(' a b , c'), 'a b');
  assert.equal(firstElement(',, a,b'), 'a');
  assert.equal(firstElement(''), '');
  assert.equal(firstElement(' , '), '');
});
