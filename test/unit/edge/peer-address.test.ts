import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPeerAddress } from '../../../src/edge/peer-address.ts';
import type { HttpResponse } from '../../../src/edge/uws.ts';
import { createTrust } from '../../../src/proxy/trust.ts';

const addressOf = createPeerAddress();

function textOf(...bytes: readonly number[]): string {
  return addressOf({ getRemoteAddress: () => new Uint8Array(bytes).buffer } as unknown as HttpResponse);
}

const MAPPED = [...Array<number>(10).fill(0), 0xff, 0xff];

test('writes IPv4, also where it came over a dual-stack socket, and IPv6 in its short form', () => {
  assert.equal(textOf(192, 0, 2, 7), '192.0.2.7');
  assert.equal(textOf(...MAPPED, 192, 0, 2, 7), '192.0.2.7');
  assert.equal(textOf(0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), 1), '2001:db8::1');
  assert.equal(textOf(...Array<number>(15).fill(0), 1), '::1');
});

// A client can reset its connection right behind its request: it must not pass for somebody on this machine.
test('a peer that is gone has no address, and is believed nothing', () => {
  const peer = textOf();
  assert.equal(peer, 'unknown');
  for (const addresses of [
    ['127.0.0.0/8', '::1'],
    ['0.0.0.0/0', '::/0'],
  ]) {
    assert.equal(createTrust({ kind: 'list', addresses }, { endsTls: false })(peer), false);
  }
  assert.equal(createTrust({ kind: 'auto' }, { endsTls: false })(peer), false);
});
