import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManagerOptions, Socket } from 'socket.io-client';
import { connectSocketIo } from '../helpers/socket-io.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const MIB = 1024 * 1024;

function echo(socket: Socket, value: unknown): Promise<unknown> {
  return socket.timeout(20_000).emitWithAck('echo', value);
}

const TRANSPORTS: [string, Partial<ManagerOptions>, string][] = [
  ['polling only', { transports: ['polling'] }, 'polling'],
  ['WebSocket only', { transports: ['websocket'] }, 'websocket'],
];

test('Socket.IO runs unmodified', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/socket-io.js'] });

  for (const [what, options, transport] of TRANSPORTS) {
    await t.test(what, async (t) => {
      const socket = await connectSocketIo(t, uwsrp.port, options);
      assert.equal(await socket.timeout(5000).emitWithAck('transport'), transport);
      const binary = Buffer.from([0, 1, 254, 255]);
      assert.deepEqual(await echo(socket, { text: 'grüße 👋', binary, list: [1, null] }), {
        text: 'grüße 👋',
        binary,
        list: [1, null],
      });
      const large = 'x'.repeat(2 * MIB);
      assert.equal(await echo(socket, large), large);
      const numbers = Array.from({ length: 200 }, (_, number) => number);
      assert.deepEqual(await Promise.all(numbers.map((number) => echo(socket, number))), numbers);
    });
  }

  await t.test('polling that becomes a WebSocket', async (t) => {
    const socket = await connectSocketIo(t, uwsrp.port, { transports: ['polling', 'websocket'] });
    const { engine } = socket.io;
    if (engine.transport.name !== 'websocket') {
      await withTimeout(new Promise<void>((resolve) => engine.once('upgrade', () => resolve())), 'the upgrade');
    }
    assert.equal(await socket.timeout(5000).emitWithAck('transport'), 'websocket');
    assert.equal(await echo(socket, 'after the upgrade'), 'after the upgrade');
  });

  await t.test('a broadcast reaches clients of both transports', async (t) => {
    const sockets = await Promise.all(TRANSPORTS.map(([, options]) => connectSocketIo(t, uwsrp.port, options)));
    const news = sockets.map((socket) => new Promise((resolve) => socket.once('news', resolve)));
    sockets[0]!.emit('broadcast', 'to all');
    assert.deepEqual(await withTimeout(Promise.all(news), 'the news'), ['to all', 'to all']);
  });

  await t.test('the app sees a client leave, over both transports', async (t) => {
    for (const [index, [, options]] of TRANSPORTS.entries()) {
      const socket = await connectSocketIo(t, uwsrp.port, options);
      socket.disconnect();
      const left = new RegExp(`(socket\\.io disconnect client namespace disconnect[^]*){${index + 1}}`);
      await uwsrp.waitForOutput(left);
    }
  });
});
