import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { withTimeout } from './timeout.ts';

/** Connections opened at a time: fewer than a listener's queue holds. */
const BATCH = 200;

/**
 * Many clients that send a beginning, and then one byte each second: plain sockets, since a thousand of anything richer
 * would be the test's own load. What they are sent is read and forgotten.
 */
export class SlowClients {
  readonly #sockets: Socket[] = [];
  #dribble: NodeJS.Timeout | undefined;

  /** Opens them all, and begins to send. They are closed after the test. */
  async open(t: TestContext, port: number, count: number, beginning: string): Promise<void> {
    t.after(() => this.close());
    while (this.#sockets.length < count) {
      const size = Math.min(BATCH, count - this.#sockets.length);
      const batch = Array.from({ length: size }, () => connect(port, '127.0.0.1'));
      this.#sockets.push(...batch);
      await withTimeout(Promise.all(batch.map((socket) => once(socket, 'connect'))), 'connections', 20_000);
      for (const socket of batch) {
        socket.on('error', () => {});
        socket.resume();
        socket.write(beginning);
      }
    }
    this.#dribble = setInterval(() => {
      for (const socket of this.#sockets) if (socket.writable) socket.write('x');
    }, 1000);
  }

  get openCount(): number {
    return this.#sockets.filter((socket) => !socket.destroyed).length;
  }

  /** Waits until the other side has closed every one. */
  async allClosed(ms: number): Promise<void> {
    const open = this.#sockets.filter((socket) => !socket.destroyed);
    // Not by `once`: a close with a byte on its way is a reset, an error to it.
    const closes = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await withTimeout(Promise.all(closes), () => `the end of ${this.openCount} connections`, ms);
  }

  close(): void {
    clearInterval(this.#dribble);
    for (const socket of this.#sockets) socket.destroy();
  }
}
