import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { browserClient } from '../helpers/chromium.ts';
import { fayeApp, fayeClient, websocketApp, websocketClient, wsApp, wsClient } from '../helpers/node-peers.ts';
import type { AppPeer, ClientPeer, ConnectOptions, PeerSocket } from '../helpers/peer.ts';
import { pythonApp, pythonClient } from '../helpers/python-peer.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const MIB = 1024 * 1024;

/** Every peer once on each side: the two hops know nothing of each other's peer. */
const PAIRS: readonly (readonly [ClientPeer, AppPeer])[] = [
  [wsClient, wsApp],
  [websocketClient, wsApp],
  [fayeClient, wsApp],
  [pythonClient, wsApp],
  [browserClient, wsApp],
  [wsClient, websocketApp],
  [wsClient, fayeApp],
  [wsClient, pythonApp],
];

for (const [client, app] of PAIRS) {
  test(`${client.name} as the client and ${app.name} as the app are one WebSocket`, async (t) => {
    const running = await app.start(t);
    const uwsrp = await startUwsrp(t, { appPort: running.port });
    const connect = await client.start(t, `http://127.0.0.1:${uwsrp.port}/`);
    const url = `ws://127.0.0.1:${uwsrp.port}`;
    const open = async (options?: ConnectOptions) => {
      const mine = await connect(`${url}/socket?a=b`, options);
      return [mine, await running.opened.next()] as const;
    };

    const [left, right] = await open();
    const ways = [
      ['from the client', left, right],
      ['from the app', right, left],
    ] as const;

    for (const [way, from, to] of ways) {
      await t.test(`text and bytes ${way}`, async () => {
        for (const message of ['grüße 👋', '', Buffer.from([0, 127, 128, 255]), Buffer.alloc(0)]) {
          from.actions.send(message);
          assert.deepEqual(await to.messages.next(), message);
        }
      });

      await t.test(`a mebibyte ${way}`, async () => {
        for (const message of ['é'.repeat(MIB / 2), randomBytes(MIB)]) {
          from.actions.send(message);
          const received = await to.messages.next(20_000);
          // Not deepEqual, whose message would hold both.
          assert.ok(typeof message === 'string' ? received === message : message.equals(received as Buffer));
        }
      });

      await t.test(`200 messages ${way} in their order`, async () => {
        const texts = Array.from({ length: 200 }, (_, index) => String(index).repeat(1 + (index % 50)));
        for (const text of texts) from.actions.send(text);
        for (const text of texts) assert.equal(await to.messages.next(), text);
      });

      if (from.actions.sendFragments !== undefined) {
        await t.test(`a message in fragments ${way}`, async () => {
          from.actions.sendFragments!('in several frames');
          assert.equal(await to.messages.next(), 'in several frames');
        });
      }

      if (from.actions.ping !== undefined) {
        await t.test(`a ping ${way} is answered`, async () => {
          from.actions.ping!();
          await from.pongs.next();
        });
      }
    }

    await t.test('no subprotocol where none is offered, and the one that the app chose', async () => {
      assert.deepEqual([left.protocol, right.protocol], ['', '']);
      const chosen = await open({ protocols: ['first', 'second'] });
      assert.deepEqual(
        chosen.map(({ protocol }) => protocol),
        ['second', 'second'],
      );
    });

    await t.test('a close of either side, with its code and reason', async () => {
      for (const [code, reason] of [
        [1000, 'done'],
        [4001, 'grüße 👋'],
      ] as const) {
        const closes = async (from: PeerSocket, to: PeerSocket) => {
          from.actions.close(code, reason);
          assert.deepEqual(await to.closes.next(), { code, reason });
          await from.closes.next();
        };
        const [mine, theirs] = await open();
        await closes(mine, theirs);
        const [again, others] = await open();
        await closes(others, again);
      }
    });

    await t.test('what the app refuses stays closed, and no other socket suffers', async () => {
      await assert.rejects(connect(`${url}/refused`), client.refusal);
      left.actions.send('still there');
      assert.equal(await right.messages.next(), 'still there');
    });
  });
}
