import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSpoofableField } from '../../../src/proxy/spoofable-fields.ts';

const SPOOFABLE = [
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'cf-visitor',
  'client-ip',
  'cloudfront-forwarded-proto',
  'cloudfront-viewer-address',
  'do-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'fly-forwarded-port',
  'fly-forwarded-proto',
  'fly-forwarded-ssl',
  'forwarded',
  'front-end-https',
  'true-client-ip',
  'x-appengine-user-ip',
  'x-arr-ssl',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-forwarded',
  'x-forwarded-by',
  'x-forwarded-host',
  'x-forwarded-prefix',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-forwarded-user',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-proto',
  'x-original-uri',
  'x-original-url',
  'x-originating-ip',
  'x-queue-start',
  'x-real-ip',
  'x-real-port',
  'x-remote-addr',
  'x-remote-ip',
  'x-rewrite-url',
  'x-scheme',
  'x-url-scheme',
];

const HARMLESS = [
  '',
  'host',
  'cookie',
  'content-type',
  'cache-control',
  'date',
  'dnt',
  'from',
  'te',
  'traceparent',
  'x-request-id',
  'x-requested-with',
  'x-api-key',
  'x-csrf-token',
  'x-http-method-override',
  'client',
  'real-ip',
  'forwarded-for',
  'x-forward',
];

for (const name of SPOOFABLE) {
  test(`${name} is for routers to set`, () => assert.equal(isSpoofableField(name), true));
}
for (const name of HARMLESS) {
  test(`"${name}" is for anyone to set`, () => assert.equal(isSpoofableField(name), false));
}
