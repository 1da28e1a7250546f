import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { startNative } from '../helpers/native.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { until } from '../helpers/until.ts';
import { openWebSocket } from '../helpers/websocket.ts';
import { readWithWs } from '../helpers/websocket-frames.ts';
import { connectFrames } from '../helpers/websocket-peer.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const MESSAGE_BYTES = 64 * KIB;
/** Far more than the kernel's buffers of one connection hold. */
const COUNT = 1500;

/** Each message of a client publishes one that begins with the same text. */
const module = (settings: string) => `
  app.ws('/news', {
    ${settings}
    open: (ws) => void ws.subscribe('news'),
    message: (ws, message) => context.publish('news', text(message).padEnd(${MESSAGE_BYTES}, '.')),
  });`;

test('a subscriber that reads nothing loses messages, takes no memory, and holds up nobody', async (t) => {
  const { uwsrp, url } = await startNative(t, module(''));
  const slow = await connectFrames(t, uwsrp.port, '', '/news');
  const fast = await openWebSocket(t, url('/news'));
  assert.equal((await fast.exchange('first ')).text.length, MESSAGE_BYTES);
  const before = uwsrp.peakResidentBytes();
  slow.pause();
  for (let number = 0; number < COUNT; number += 1) {
    assert.ok((await fast.exchange(`${number} `)).text.startsWith(`${number} `), `number ${number}`);
  }
  const grown = uwsrp.peakResidentBytes() - before;
  assert.ok(grown < 48 * MIB, `${grown} bytes more for ${COUNT * MESSAGE_BYTES} published`);

  // It is still a subscriber: what comes once it reads again, it gets.
  slow.resume();
  const hasLast = () => {
    fast.send('last ');
    return slow.unread.includes('last ');
  };
  await until(hasLast, 'the last message', 20_000);
  const events = await readWithWs(slow.unread, false);
  const numbers = events
    .map(({ kind, data }) => {
      assert.deepEqual([kind, data.length], ['text', MESSAGE_BYTES], 'only whole messages');
      return data.toString('latin1', 0, data.indexOf(' '));
    })
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  assert.ok(numbers.length > 0 && numbers.length < COUNT, `${numbers.length} of ${COUNT}`);
  assert.deepEqual(
    numbers,
    [...numbers].sort((one, other) => one - other),
    'in their order',
  );
});

test('with closeOnBackpressureLimit it is closed, and the others get all', async (t) => {
  const { uwsrp, url } = await startNative(t, module('closeOnBackpressureLimit: true,'));
  const slow = await connectFrames(t, uwsrp.port, '', '/news');
  const fast = await openWebSocket(t, url('/news'));
  slow.pause();
  for (let number = 0; number < COUNT; number += 1) {
    assert.ok((await fast.exchange(`${number} `)).text.startsWith(`${number} `), `number ${number}`);
  }
  slow.resume();
  await withTimeout(slow.closed, 'the cut');
  assert.ok(slow.receivedLength < (COUNT * MESSAGE_BYTES) / 2);
});

test('the module learns of each message that a subscriber loses, and of what waits for it', async (t) => {
  const { uwsrp, url } = await startNative(
    t,
    `let lost = 0;
    let waiting = 0;
    app.ws('/news', {
      open: (ws) => void ws.subscribe('news'),
      message: (ws, message) => context.publish('news', text(message).padEnd(${MESSAGE_BYTES}, '.')),
      dropped: (ws, message) => {
        if (message.byteLength === ${MESSAGE_BYTES}) lost += 1;
        waiting = Math.max(waiting, ws.getBufferedAmount());
      },
    });
    app.get('/lost', (res) => void res.end(JSON.stringify({ lost, waiting })));`,
  );
  const slow = await connectFrames(t, uwsrp.port, '', '/news');
  const fast = await openWebSocket(t, url('/news'));
  slow.pause();
  for (let number = 0; number < COUNT; number += 1) await fast.exchange(`${number} `);
  const { lost, waiting } = JSON.parse((await request(uwsrp.port, { path: '/lost' })).text) as Record<string, number>;
  assert.ok(waiting! > 64 * KIB, `${waiting} bytes waited`);
  slow.resume();
  const isWhole = () => {
    fast.send('last ');
    return slow.unread.includes('last ');
  };
  await until(isWhole, 'the last message', 20_000);
  const got = (await readWithWs(slow.unread, false)).filter(({ data }) => /^\d/.test(data.toString('latin1', 0, 1)));
  assert.equal(got.length + lost!, COUNT);
});
