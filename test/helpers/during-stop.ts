import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EndOfBytes } from './byte-reader.ts';
import { connectRaw } from './raw-socket.ts';
import { until } from './until.ts';
import type { Exit, Uwsrp } from './uwsrp.ts';

/** Waits until nobody listens on the public port any more, in whichever thread. */
export async function untilRefused(uwsrp: Uwsrp): Promise<void> {
  const isRefused = () =>
    connectRaw(uwsrp.port).then(
      (client) => {
        client.destroy();
        return false;
      },
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    );
  await until(isRefused, 'connects to be refused');
}

/**
 * Stops uwsrp while clients ask `node-http.js` again and again, once `answers` were given. `wrong` holds what was neither
 * served whole nor refused without a byte.
 */
export async function stopUnderRequests(
  t: TestContext,
  uwsrp: Uwsrp,
  { clients, answers }: { readonly clients: number; readonly answers: number },
): Promise<{ exit: Exit; wrong: string[] }> {
  const wrong: string[] = [];
  let answered = 0;
  const load = Array.from({ length: clients }, async (_, index) => {
    const client = await connectRaw(uwsrp.port, t);
    for (;;) {
      client.send('GET /status/200 HTTP/1.1\r\nHost: a\r\n\r\n');
      try {
        const response = await client.readResponse();
        if (response.status !== 200) wrong.push(`${response.status}`);
        answered += 1;
        if (response.headers.get('connection') === 'close') return client.destroy();
      } catch (error) {
        if (!(error instanceof EndOfBytes) || error.pending.length > 0) wrong.push(String(error));
        return;
      }
      // So that some connections are idle at any moment.
      await delay(index);
    }
  });
  await until(() => answered > answers, `${answers} answers`);
  const { exited } = uwsrp;
  uwsrp.child.kill('SIGTERM');
  await Promise.all(load);
  return { exit: await exited, wrong };
}
