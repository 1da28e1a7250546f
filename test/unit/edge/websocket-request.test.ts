import type { HttpRequest } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeUpgrade } from '../../../src/edge/websocket-request.ts';

type Field = readonly [name: string, value: string];

const HANDSHAKE: readonly Field[] = [
  ['host', 'x'],
  ['upgrade', 'websocket'],
  ['connection', 'Upgrade'],
  ['sec-websocket-version', '13'],
  ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

/** The handshake with fields replaced (undefined: left out) and others after it. */
function judge(changes: Record<string, string | undefined> = {}, more: readonly Field[] = [], method = 'GET') {
  const fields = HANDSHAKE.map(([name, value]) => [name, name in changes ? changes[name] : value] as const);
  const all = [...fields.filter((field): field is Field => field[1] !== undefined), ...more];
  const request = {
    getCaseSensitiveMethod: () => method,
    getHeader: (name: string) => all.find(([key]) => key === name)?.[1] ?? '',
    forEach: (each: (name: string, value: string) => void) => {
      for (const [name, value] of all) each(name, value);
    },
  };
  return judgeUpgrade(request as unknown as HttpRequest);
}

test('a handshake is valid, also when written in other ways that mean the same', () => {
  assert.equal(judge(), 'valid');
  assert.equal(judge({ upgrade: 'WebSocket', connection: 'keep-alive, UPGRADE' }), 'valid');
  assert.equal(judge({ connection: 'keep-alive' }, [['connection', 'upgrade']]), 'valid');
  assert.equal(judge({ upgrade: 'h2c, websocket' }), 'valid');
  assert.equal(judge({}, [['content-length', '0']]), 'valid');
  assert.equal(judge({ 'sec-websocket-key': 'AQIDBAUGBwgJCgsMDQ4PEC==' }), 'valid', 'the example of the RFC');
});

test('a request that does not ask for a WebSocket is left alone', () => {
  assert.equal(judge({ upgrade: undefined }), 'none');
  assert.equal(judge({ upgrade: 'h2c' }), 'none');
  assert.equal(judge({ upgrade: 'websockets' }), 'none');
  assert.equal(judge({ connection: undefined }), 'none');
  assert.equal(judge({ connection: 'keep-alive' }), 'none');
  assert.equal(judge({ connection: 'close' }, [['connection', 'upgrade']]), 'none');
  assert.equal(judge({ connection: 'x-hop' }, [['connection', 'upgrade']]), 'none', 'read as close by uWebSockets.js');
});

test('a handshake of another version is told which one is known', () => {
  assert.equal(judge({ 'sec-websocket-version': '8' }), 'UPGRADE_REQUIRED');
  assert.equal(judge({ 'sec-websocket-version': undefined }), 'UPGRADE_REQUIRED');
  assert.equal(judge({ 'sec-websocket-version': '13, 8' }), 'UPGRADE_REQUIRED');
  assert.equal(judge({ 'sec-websocket-version': '8', 'sec-websocket-key': undefined }), 'UPGRADE_REQUIRED');
});

test('a malformed handshake is refused: method, key, body', () => {
  assert.equal(judge({}, [], 'POST'), 'BAD_REQUEST');
  assert.equal(judge({ 'sec-websocket-key': undefined }), 'BAD_REQUEST');
  assert.equal(judge({ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=' }), 'BAD_REQUEST');
  assert.equal(judge({ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQAA' }), 'BAD_REQUEST', '18 bytes');
  assert.equal(judge({ 'sec-websocket-key': '!!!!!!!!!!!!!!!!!!!!!!==' }), 'BAD_REQUEST');
  assert.equal(judge({}, [['content-length', '5']]), 'BAD_REQUEST');
  assert.equal(judge({}, [['transfer-encoding', 'chunked']]), 'BAD_REQUEST');
});
