import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORWARDED_FIELDS } from '../../../src/proxy/forwarded-headers.ts';
import { isHopByHop, parseConnection } from '../../../src/proxy/hop-by-hop.ts';

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
];

const END_TO_END = [
  'host',
  'content-length',
  'content-encoding',
  'cookie',
  'set-cookie',
  'authorization',
  'www-authenticate',
  'via',
  'date',
  'trailers',
  'upgrade-insecure-requests',
  'x-forwarded-for',
  'origin',
  'max-forwards',
  'accept-encoding',
  'sec-websocket-key',
  '',
];

for (const name of HOP_BY_HOP) {
  test(`${name} belongs to one connection`, () => assert.equal(isHopByHop(name), true));
}
for (const name of END_TO_END) {
  test(`"${name}" goes from end to end`, () => assert.equal(isHopByHop(name), false));
}

const NOTHING = { close: false, keepAlive: false, upgrade: false, names: undefined };

const CONNECTIONS: [value: string | undefined, meaning: Partial<ReturnType<typeof parseConnection>>][] = [
  [undefined, {}],
  ['', {}],
  [' ', {}],
  [',', {}],
  [' ,\t, ', {}],
  ['close', { close: true }],
  ['Close', { close: true }],
  ['CLOSE', { close: true }],
  [' close ', { close: true }],
  ['close, TE', { close: true }],
  ['TE, close', { close: true }],
  ['keep-alive', { keepAlive: true }],
  ['Keep-Alive', { keepAlive: true }],
  ['KEEP-ALIVE', { keepAlive: true }],
  ['upgrade', { upgrade: true }],
  ['Upgrade', { upgrade: true }],
  ['keep-alive, Upgrade', { keepAlive: true, upgrade: true }],
  ['Upgrade,keep-alive', { keepAlive: true, upgrade: true }],
  ['upgrade, http2-settings', { upgrade: true }],
  ['keep-alive, close', { keepAlive: true, close: true }],
  [', X-Hop', { names: ['x-hop'] }],
  [',close,,X-A ,\tX-b', { close: true, names: ['x-a', 'x-b'] }],
  ['Cookie, Authorization', { names: ['cookie', 'authorization'] }],
  ['closed', { names: ['closed'] }],
  ['keep-alive timeout', { names: ['keep-alive timeout'] }],
];
for (const [value, meaning] of CONNECTIONS) {
  test(`reads the Connection field ${JSON.stringify(value) ?? 'that is absent'}`, () => {
    assert.deepEqual(parseConnection(value), { ...NOTHING, ...meaning });
  });
}

const PROTECTED = ['Host', 'Content-Length', 'Transfer-Encoding', 'X-Request-Id', 'Forwarded', 'X-Real-IP'];
for (const name of [...PROTECTED, ...FORWARDED_FIELDS, 'CF-Connecting-IP', 'X-Forwarded-Ssl']) {
  test(`Connection cannot name ${name} away`, () => {
    assert.deepEqual(parseConnection(name), NOTHING);
    assert.deepEqual(parseConnection(`X-A, ${name}, close`), { ...NOTHING, close: true, names: ['x-a'] });
  });
}

test('hop-by-hop fields are not named twice: they go anyway', () => {
  assert.deepEqual(parseConnection(HOP_BY_HOP.filter((name) => name !== 'upgrade').join(', ')).names, undefined);
});
