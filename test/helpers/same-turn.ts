import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * Gives a function that has `first` called while the events of a turn are read, and reads what `cause` makes the kernel
 * tell at once in the same turn, after it: how a request and the app's close of its connection can come together.
 */
export async function startSameTurn(t: TestContext): Promise<(first: () => void, cause: () => void) => Promise<void>> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const from = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  const [[to]] = await Promise.all([once(server, 'connection'), once(from, 'connect')]);
  t.after(() => {
    from.destroy();
    to.destroy();
    server.close();
  });
  return async (first, cause) => {
    // Whatever was read just now is looked at once more, before all others.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const happened = new Promise<void>((resolve) => {
      to.once('data', () => {
        first();
        resolve();
      });
    });
    // Both in the kernel before the loop looks.
    from.write('x');
    cause();
    await happened;
  };
}
