import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { limitReceiveBuffers } from '../../../src/edge/receive-buffer.ts';

/** What the kernel says of a socket of ours: SO_RCVBUF in bytes. */
function receiveBuffer(owner: Server | Socket): number {
  const { fd } = (owner as unknown as { _handle: { fd: number } })._handle;
  const script = 'open(my $s, "+<&=", 3); print unpack("i", getsockopt($s, 1, 8))';
  const { stdout } = spawnSync('perl', ['-e', script], { stdio: ['ignore', 'pipe', 'inherit', fd], encoding: 'utf8' });
  return Number(stdout);
}

test('connections to the port get buffers that uWebSockets.js cannot fill its own from', async (t) => {
  const server = createServer().listen(0);
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  assert.equal(await limitReceiveBuffers(port), true);
  const accepted = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  t.after(() => client.destroy());
  const [socket] = (await accepted) as [Socket];
  t.after(() => socket.destroy());
  assert.equal(receiveBuffer(socket), 448 * 1024);
});

test('a port that is not ours is left alone', async () => {
  assert.equal(await limitReceiveBuffers(1), false);
});
