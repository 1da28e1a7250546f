import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import { parseAddress, readListeningSockets, socketsOf } from '../../../src/lib/listening-sockets.ts';

test('addresses are read in the byte order of the kernel', () => {
  assert.equal(parseAddress('0100007F'), '127.0.0.1');
  assert.equal(parseAddress('00000000'), '0.0.0.0');
  assert.equal(parseAddress('020011AC'), '172.17.0.2');
  assert.equal(parseAddress('00000000000000000000000000000000'), '::');
  assert.equal(parseAddress('00000000000000000000000001000000'), '::1');
  assert.equal(parseAddress('0000000000000000FFFF00000100007F'), '127.0.0.1');
  assert.equal(parseAddress('B80D0120000000000000000001000000'), '2001:db8::1');
});

test('a listening socket of this process is found with its descriptor, and no more once it is closed', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const own = () => {
    const socket = readListeningSockets().find((each) => each.port === port);
    return socket && { ...socket, held: socketsOf(process.pid).filter(({ inode }) => inode === socket.inode).length };
  };
  assert.deepEqual({ ...own(), inode: '' }, { inode: '', port, address: '127.0.0.1', held: 1 });
  server.close();
  await once(server, 'close');
  assert.equal(own(), undefined);
});

test('each listening socket is found once in a table that has to be read in pieces', async (t) => {
  const listen = async (): Promise<Server> => {
    const server = createServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    return server;
  };
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  // 400 listeners and 600 ends of connections, of 150 bytes each: more than eight pieces.
  const servers = await Promise.all(Array.from({ length: 400 }, listen));
  const clients = Array.from({ length: 300 }, () => connect(portOf(servers[0]!), '127.0.0.1'));
  t.after(() => {
    for (const client of clients) client.destroy();
  });
  servers[0]!.on('connection', (socket) => t.after(() => socket.destroy()));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const ports = servers.map(portOf).sort((a, b) => a - b);
  const found = readListeningSockets().filter(({ port }) => ports.includes(port));
  assert.deepEqual(
    found.map(({ port }) => port).sort((a, b) => a - b),
    ports,
  );
  assert.ok(found.every(({ address }) => address === '127.0.0.1'));
  const held = new Set(socketsOf(process.pid).map(({ inode }) => inode));
  assert.ok(found.every(({ inode }) => held.has(inode)));
});

test('a process that does not exist holds nothing', () => {
  assert.deepEqual(socketsOf(2 ** 30), []);
});
