import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHsts } from '../../../src/proxy/hsts.ts';
import { proxyRequest } from '../../helpers/proxy-request.ts';

const VALUE = 'max-age=63072000; includeSubDomains; preload';
const hsts = createHsts(VALUE);

test('an answer to a believed https request carries exactly the configured value', () => {
  assert.equal(hsts(proxyRequest({ forwardedProto: 'https' }), true), VALUE);
  assert.equal(hsts(proxyRequest({ forwardedProto: 'HTTPS, http' }), true), VALUE);
});

test('an answer over TLS of ours carries it', () => {
  assert.equal(hsts(proxyRequest({ isTls: true }), false), VALUE);
});

test('an answer over http does not', () => {
  assert.equal(hsts(proxyRequest(), true), undefined);
  assert.equal(hsts(proxyRequest({ forwardedProto: 'http' }), true), undefined);
  assert.equal(hsts(proxyRequest({ forwardedProto: 'http', isTls: true }), true), undefined);
});

test('an answer to a stranger who says https does not', () => {
  assert.equal(hsts(proxyRequest({ forwardedProto: 'https' }), false), undefined);
});

test('without a value there is no field', () => {
  assert.equal(createHsts(undefined)(proxyRequest({ forwardedProto: 'https' }), true), undefined);
});
