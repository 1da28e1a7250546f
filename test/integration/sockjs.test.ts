import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import SockJS from 'sockjs-client';
import { PeerSocket } from '../helpers/peer.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

/** A client of SockJS that may use this transport only. */
async function openSockJs(t: TestContext, port: number, transport: string): Promise<PeerSocket> {
  const socket = new SockJS(`http://127.0.0.1:${port}/echo`, null, { transports: transport, timeout: 10_000 });
  t.after(() => socket.close());
  const actions = {
    send: (data: string | Buffer) => socket.send(data),
    close: (code: number, reason: string) => socket.close(code, reason),
  };
  const peer = new PeerSocket(actions, '');
  socket.onmessage = ({ data }) => peer.messages.push(data as string);
  const opened = new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onclose = ({ code, reason }) => {
      peer.closes.push({ code, reason });
      reject(new Error(`SockJS closed with ${code} ${reason}`));
    };
  });
  await withTimeout(opened, `SockJS to open by ${transport}`);
  return peer;
}

test('SockJS runs unmodified', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/sockjs.js'] });

  for (const transport of ['websocket', 'xhr-streaming', 'xhr-polling']) {
    await t.test(transport, async (t) => {
      const socket = await openSockJs(t, uwsrp.port, transport);
      await uwsrp.waitForOutput(`sockjs opened ${transport}`);
      for (const text of ['grüße 👋', 'x'.repeat(1024 * 1024)]) {
        socket.actions.send(text);
        const received = await socket.messages.next(20_000);
        assert.ok(received === text, `${received.length} of ${text.length} characters`);
      }
      const numbers = Array.from({ length: 100 }, (_, number) => String(number));
      for (const number of numbers) socket.actions.send(number);
      for (const number of numbers) assert.equal(await socket.messages.next(), number);

      socket.actions.send('close 4000 enough');
      assert.deepEqual(await socket.closes.next(), { code: 4000, reason: 'enough' });
    });
  }

  await t.test('the app sees a client leave', async (t) => {
    const socket = await openSockJs(t, uwsrp.port, 'websocket');
    socket.actions.close(1000, 'bye');
    assert.equal((await socket.closes.next()).code, 1000);
    await uwsrp.waitForOutput(/(sockjs closed websocket[\s\S]*){2}/);
  });
});
