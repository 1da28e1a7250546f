import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORWARDED_FIELDS, isForwardedField } from '../../../src/proxy/forwarded-headers.ts';
import { createRequestFields } from '../../../src/proxy/request-fields.ts';

const isPassed = createRequestFields({ clientIpHeader: 'x-edge-client', requestId: true });

const ALWAYS = [
  'host',
  'content-length',
  'content-type',
  'cookie',
  'authorization',
  'user-agent',
  'accept-encoding',
  'origin',
  'via',
  'x_user',
  'x-user',
  'api_key',
  '_',
  'x_',
  "a!#$%&'*+.^_|~",
  'proxy-status',
];

const ROUTERS_ONLY = [
  'forwarded',
  'x-real-ip',
  'x-forwarded-ssl',
  'x-forwarded-server',
  'cf-connecting-ip',
  'front-end-https',
  'x-edge-client',
];

const NEVER = [
  ...FORWARDED_FIELDS,
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'proxy-authorization',
  'proxy-connection',
  'expect',
  'proxy',
  'x_forwarded_for',
  'x-forwarded_for',
  'x_forwarded-proto',
  'x_forwarded_ssl',
  'x_request_start',
  'x_real_ip',
  'cf_connecting_ip',
  'x_edge_client',
  'x_request_id',
  'content_length',
  'transfer_encoding',
  'proxy_authorization',
  'http2_settings',
];

for (const name of ALWAYS) {
  test(`${name} passes from anybody`, () => {
    assert.equal(isPassed(name, true), true);
    assert.equal(isPassed(name, false), true);
  });
}

for (const name of ROUTERS_ONLY) {
  test(`${name} passes from a trusted peer and from nobody else`, () => {
    assert.equal(isPassed(name, true), true);
    assert.equal(isPassed(name, false), false);
  });
}

for (const name of NEVER) {
  test(`${name} never passes`, () => {
    assert.equal(isPassed(name, true), false);
    assert.equal(isPassed(name, false), false);
  });
}

test('without a client address field its name is like any other', () => {
  const isPassedWithout = createRequestFields({ clientIpHeader: undefined, requestId: true });
  assert.equal(isPassedWithout('x-edge-client', false), true);
  assert.equal(isPassedWithout('x_edge_client', false), true);
});

test('X-Request-Id is written anew, or passes when the variable is off', () => {
  assert.equal(isPassed('x-request-id', true), false);
  assert.equal(createRequestFields({ clientIpHeader: undefined, requestId: false })('x-request-id', false), true);
});

test('the list of forwarding fields and its test agree', () => {
  for (const name of FORWARDED_FIELDS) assert.equal(isForwardedField(name), true, name);
  for (const name of ['x-forwarded-ssl', 'x-forwarded-by', 'x-forwarded-fox', 'forwarded', 'x-real-ip', '']) {
    assert.equal(isForwardedField(name), false, name);
  }
});
