import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSpoofableField } from '../../../src/proxy/spoofable-fields.ts';

const SPOOFABLE = [
  'forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-visitor',
  'do-connecting-ip',
  'fly-client-ip',
  'fastly-client-ip',
  'front-end-https',
  'x-url-scheme',
  'x-scheme',
  'x-original-url',
  'x-original-host',
  'x-rewrite-url',
  'x-queue-start',
  'x-forwarded',
  'x-forwarded-by',
  'x-forwarded-host',
  'x-forwarded-prefix',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-forwarded-user',
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
