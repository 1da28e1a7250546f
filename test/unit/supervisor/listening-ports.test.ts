import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { isOnAllInterfaces, isReachableOnLoopback, listenersOf } from '../../../src/supervisor/listening-ports.ts';

test('finds what a process listens on, on both families, and nothing that it only connects to', async (t) => {
  const servers = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '::1'), createServer().listen(0)];
  t.after(() => {
    for (const server of servers) server.close();
  });
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);

  const found = listenersOf([process.pid]);
  assert.deepEqual(
    ports.map((port) => found.find((listener) => listener.port === port)?.address),
    ['127.0.0.1', '::1', '::'],
  );
  assert.deepEqual(listenersOf([]), []);
});

test('a process that is gone listens on nothing', () => {
  assert.deepEqual(listenersOf([2 ** 22 + 1]), []);
});

test('tells who reaches a listener', () => {
  const at = (address: string) => ({ pid: 1, port: 1, address });
  for (const address of ['0.0.0.0', '::'])
    assert.ok(isOnAllInterfaces(at(address)) && isReachableOnLoopback(at(address)));
  for (const address of ['127.0.0.1', '::1']) {
    assert.ok(!isOnAllInterfaces(at(address)) && isReachableOnLoopback(at(address)));
  }
  assert.ok(!isOnAllInterfaces(at('172.17.0.2')) && !isReachableOnLoopback(at('172.17.0.2')));
});
