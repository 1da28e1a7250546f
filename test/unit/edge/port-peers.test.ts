import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PortPeers } from '../../../src/edge/port-peers.ts';

test('knows who is behind a port that one peer alone has used', () => {
  const peers = new PortPeers();
  assert.equal(peers.peerOf(4000), undefined);
  peers.onOpen(4000, '10.0.0.1');
  peers.onOpen(4001, '10.0.0.2');
  peers.onOpen(4000, '10.0.0.1');
  assert.equal(peers.peerOf(4000), '10.0.0.1');
  assert.equal(peers.peerOf(4001), '10.0.0.2');
});

test('never answers again for a port that a second peer has used: the first may still be there', () => {
  const peers = new PortPeers();
  for (const peer of ['10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.1']) peers.onOpen(4000, peer);
  assert.equal(peers.peerOf(4000), undefined);
  peers.onOpen(4000, '10.0.0.1');
  assert.equal(peers.peerOf(4000), undefined);
});
