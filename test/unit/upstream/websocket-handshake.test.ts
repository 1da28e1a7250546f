import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  acceptFor,
  createKey,
  readUpgradeResponse,
  tryStatus,
  type UpgradeResponse,
  upgradeRequest,
} from '../../../src/upstream/websocket-handshake.ts';

/** Key and answer of RFC 6455 section 1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

function head(fields: Record<string, string | undefined>, more: readonly string[] = []): string {
  const all: Record<string, string | undefined> = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Accept': ACCEPT,
    ...fields,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return ['HTTP/1.1 101 Switching Protocols', ...lines, ...more].join('\r\n');
}

function accepted(text: string, protocols?: string): UpgradeResponse {
  const response = readUpgradeResponse(text, KEY, protocols);
  assert.ok(typeof response !== 'string', `refused: ${response as string}`);
  return response;
}

test('answers the key of the RFC as the RFC does, and makes keys of 16 random bytes', () => {
  assert.equal(acceptFor(KEY), ACCEPT);
  assert.match(createKey(), /^[A-Za-z0-9+/]{21}[AQgw]==$/);
  assert.notEqual(createKey(), createKey());
});

test('asks for version 13 with the subprotocols as they were written and no extension', () => {
  const request = 'GET /a?b HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n';
  const own = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  assert.equal(upgradeRequest(request, KEY, undefined), `${request}${own}Sec-WebSocket-Key: ${KEY}\r\n\r\n`);
  assert.equal(
    upgradeRequest(request, KEY, 'a,  B'),
    `${request}${own}Sec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Protocol: a,  B\r\n\r\n`,
  );
});

test('reads the status of every well-formed status line and of no other', () => {
  assert.equal(tryStatus('HTTP/1.1 101 Switching Protocols'), 101);
  assert.equal(tryStatus('HTTP/1.0 503'), 503);
  assert.equal(tryStatus('HTTP/1.1 204 '), 204);
  for (const line of ['HTTP/1.1 99 x', 'HTTP/1.1 1010', 'HTTP/2 101', 'HTTP/1.1  101', 'ICY 200 OK', '', 'x']) {
    assert.equal(tryStatus(line), undefined, line);
  }
});

test('keeps end-to-end fields of the 101 in order, bytes above ASCII too, and drops those of the hop', () => {
  const more = [
    'Set-Cookie: a=1; Expires=Wed, 09 Jun 2032 10:18:14 GMT',
    'X-Custom: \xe9',
    'set-cookie:b=2\t ',
    'Date: Wed, 09 Jun 2032 10:18:14 GMT',
    'Keep-Alive: timeout=5',
    'Sec-WebSocket-Version: 13',
    'X-Hop: 1',
  ];
  assert.deepEqual(accepted(head({ Connection: 'x-hop, upgrade' }, more)), {
    protocol: undefined,
    fields: [
      ['Set-Cookie', 'a=1; Expires=Wed, 09 Jun 2032 10:18:14 GMT'],
      ['X-Custom', '\xe9'],
      ['set-cookie', 'b=2'],
    ],
  });
});

test('takes Upgrade and Connection in any case and among others', () => {
  accepted(head({ Upgrade: 'WebSocket', Connection: 'keep-alive, UPGRADE' }));
  accepted(head({ Connection: 'keep-alive' }, ['connection: upgrade']));
  accepted(head({ 'Sec-WebSocket-Extensions': '' }));
});

test('takes a subprotocol that was offered, or none', () => {
  assert.equal(accepted(head({ 'Sec-WebSocket-Protocol': 'b' }), 'a, b').protocol, 'b');
  assert.equal(accepted(head({ 'Sec-WebSocket-Protocol': 'B' }), 'a,B').protocol, 'B');
  assert.equal(accepted(head({}), 'a, b').protocol, undefined);
});

const WRONG: readonly [what: string, text: string, protocols?: string][] = [
  ['no Upgrade', head({ Upgrade: undefined })],
  ['another Upgrade', head({ Upgrade: 'h2c' })],
  ['no Connection', head({ Connection: undefined })],
  ['a Connection without upgrade', head({ Connection: 'keep-alive' })],
  ['no Sec-WebSocket-Accept', head({ 'Sec-WebSocket-Accept': undefined })],
  ['the Accept of another key', head({ 'Sec-WebSocket-Accept': acceptFor(createKey()) })],
  ['two Accepts', head({}, [`Sec-WebSocket-Accept: ${ACCEPT}`])],
  ['an extension', head({ 'Sec-WebSocket-Extensions': 'permessage-deflate' })],
  ['a subprotocol though none was offered', head({ 'Sec-WebSocket-Protocol': 'a' })],
  ['a subprotocol that was not offered', head({ 'Sec-WebSocket-Protocol': 'c' }), 'a, b'],
  ['a subprotocol in another case', head({ 'Sec-WebSocket-Protocol': 'A' }), 'a, b'],
  ['two subprotocols', head({ 'Sec-WebSocket-Protocol': 'a, b' }), 'a, b'],
  ['an empty subprotocol', head({ 'Sec-WebSocket-Protocol': '' }), 'a, b'],
  ['a line without a colon', head({}, ['rubbish'])],
  ['a blank before the colon', head({}, ['X-A : 1'])],
  ['a folded line', head({}, ['X-A: 1', ' 2'])],
  ['a bare CR', head({}, ['X-A: 1\rX-B: 2'])],
  ['a NUL', head({}, ['X-A: 1\0'])],
];

for (const [what, text, protocols] of WRONG) {
  test(`refuses a 101 with ${what}`, () => {
    assert.equal(typeof readUpgradeResponse(text, KEY, protocols), 'string');
  });
}
