import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { constants, deflateRawSync } from 'node:zlib';
import { BINARY, CLOSE } from '../../src/upstream/websocket-frame.ts';
import { browserClient } from '../helpers/chromium.ts';
import { startNative } from '../helpers/native.ts';
import { websocketClient, wsApp, wsClient } from '../helpers/node-peers.ts';
import type { ClientPeer } from '../helpers/peer.ts';
import { pythonClient } from '../helpers/python-peer.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';
import { startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame } from '../helpers/websocket-frames.ts';
import { connectFrames } from '../helpers/websocket-peer.ts';

const MIB = 1024 * 1024;

/** Whether each offers permessage-deflate. */
const CLIENTS: readonly (readonly [ClientPeer, boolean])[] = [
  [wsClient, true],
  [pythonClient, true],
  [browserClient, true],
  [websocketClient, false],
];

for (const mode of ['off', 'shared', 'dedicated']) {
  test(`messages pass as they are with UWSRP_WS_COMPRESSION=${mode}`, async (t) => {
    const app = await wsApp.start(t);
    const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_WS_COMPRESSION: mode } });
    for (const [client, hasOffered] of CLIENTS) {
      await t.test(client.name, async (t) => {
        const connect = await client.start(t, `http://127.0.0.1:${uwsrp.port}/`);
        const left = await connect(`ws://127.0.0.1:${uwsrp.port}/`, { compression: true });
        const right = await app.opened.next();
        assert.match(left.extensions, hasOffered && mode !== 'off' ? /^permessage-deflate\b/ : /^$/);
        assert.equal(right.extensions, '', 'the app knows nothing of it');
        const list = Array.from({ length: 50 }, (_, index) =>
          JSON.stringify({ index, name: 'grüße', last: index - 1 }),
        );
        const messages = ['', 'é'.repeat(MIB / 2), randomBytes(100_000), Buffer.alloc(100_000), ...list];
        for (const [from, to] of [
          [left, right],
          [right, left],
        ] as const) {
          for (const message of messages) from.actions.send(message);
          for (const message of messages) {
            const received = await to.messages.next(20_000);
            assert.ok(typeof message === 'string' ? received === message : message.equals(received as Buffer));
          }
        }
      });
    }
  });
}

for (const [mode, parameters] of [
  ['shared', ['client_no_context_takeover', 'server_no_context_takeover']],
  ['dedicated', ['client_no_context_takeover', 'server_max_window_bits=12']],
] as const) {
  test(`${mode} agrees on ${parameters.join(' and ')}, and does what it says`, async (t) => {
    const app = await startWebSocketApp(t);
    const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_WS_COMPRESSION: mode } });
    const { upgrade } = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/`, { perMessageDeflate: true });
    const [name, ...agreed] = upgrade.headers['sec-websocket-extensions']!.split('; ');
    assert.deepEqual([name, agreed.sort()], ['permessage-deflate', [...parameters]]);

    await app.next();
    const client = await connectFrames(t, uwsrp.port, 'permessage-deflate');
    const { socket } = await app.next();
    const text = randomBytes(100).toString('hex');
    const lengthOfOne = async () => {
      socket.send(text);
      const [first, length] = await client.readExactly(2);
      assert.equal(first, 0xc1, 'one frame of text, compressed');
      const bytes = length === 126 ? (await client.readExactly(2)).readUInt16BE() : length!;
      await client.readExactly(bytes);
      return bytes;
    };
    const [once, again] = [await lengthOfOne(), await lengthOfOne()];
    assert.ok(once < 0.8 * text.length, `${once} bytes for ${text.length}`);
    if (mode === 'shared') assert.equal(again, once);
    else assert.ok(again < 20, `${again} bytes for what was just sent`);
  });
}

test('2000 WebSockets with windows of their own open, and none is closed in its upgrade', async (t) => {
  const app = await startWebSocketApp(t);
  const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_WS_COMPRESSION: 'dedicated' } });
  for (let round = 0; round < 100; round += 1) {
    const url = `ws://127.0.0.1:${uwsrp.port}/`;
    const sockets = await Promise.all(
      Array.from({ length: 20 }, () => openWebSocket(t, url, { perMessageDeflate: true })),
    );
    const text = `${round} `.repeat(100);
    for (const socket of sockets) assert.equal((await socket.exchange(text)).text, text);
    for (const socket of sockets) socket.socket.terminate();
  }
});

for (const mode of ['shared', 'dedicated']) {
  test(`what inflates to more than the limit ends its WebSocket, and takes no memory (${mode})`, async (t) => {
    const app = await startWebSocketApp(t);
    const env = { UWSRP_WS_COMPRESSION: mode, UWSRP_WS_MAX_MESSAGE: '1mb' };
    const uwsrp = await startUwsrp(t, { appPort: app.port, env });
    const bomb = (bytes: number) => {
      const deflated = deflateRawSync(Buffer.alloc(bytes), { finishFlush: constants.Z_SYNC_FLUSH });
      // The end of a flush is left out: RFC 7692 section 7.2.1.
      return clientFrame(BINARY, deflated.subarray(0, -4), { reserved: 0x40 });
    };
    const send = async (frame: Buffer) => {
      const client = await connectFrames(t, uwsrp.port, 'permessage-deflate');
      const { closed } = await app.next();
      client.send(frame);
      assert.equal((await closed).code, 1009);
      return client.readToEnd();
    };
    const before = uwsrp.peakResidentBytes();
    const large = bomb(200 * MIB);
    assert.ok(large.length < 256 * 1024);
    for (let count = 0; count < 5; count += 1) assert.equal((await send(large)).length, 0, 'a cut');
    const [first, , ...code] = await send(bomb(1.5 * MIB));
    assert.deepEqual([first, code.slice(0, 2)], [0x80 | CLOSE, [1009 >> 8, 1009 & 0xff]]);
    const grown = uwsrp.peakResidentBytes() - before;
    assert.ok(grown < 64 * MIB, `${grown} bytes more`);

    const survivor = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/`, { perMessageDeflate: true });
    assert.equal((await survivor.exchange('x'.repeat(MIB))).text.length, MIB);
  });
}

test('native routes compress by default what is published', async (t) => {
  const body = `
    app.ws('/news', {
      open: (ws) => void ws.subscribe('news'),
      message: (ws, message) => context.publish('news', text(message)),
    });`;
  for (const mode of ['off', 'shared', 'dedicated']) {
    const { uwsrp, url } = await startNative(t, body, { env: { UWSRP_WS_COMPRESSION: mode } });
    const text = 'the same again '.repeat(1000);
    const socket = await openWebSocket(t, url('/news'), { perMessageDeflate: true });
    assert.match(socket.upgrade.headers['sec-websocket-extensions'] ?? '', mode === 'off' ? /^$/ : /^permessage-/);
    assert.equal((await socket.exchange(text)).text, text);
    const raw = await connectFrames(t, uwsrp.port, 'permessage-deflate', '/news');
    socket.send(text);
    assert.equal((await socket.nextMessage()).text, text);
    const [first] = await raw.readExactly(1);
    assert.equal(first, mode === 'off' ? 0x81 : 0xc1);
  }
});
