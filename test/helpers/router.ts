import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { withTimeout } from './timeout.ts';

/** What became of the requests that a router sent over one pooled connection. */
export interface PooledRun {
  readonly answered: number;
  /** Requests that went into a connection which the server had closed: a client would have seen a 502. */
  readonly failed: number;
  /** Connections that were dialled; 1 when the first one was kept throughout. */
  readonly connections: number;
}

/**
 * One connection of a router's pool, as Heroku's Router 2.0 keeps it for 90 s: it sends a request, waits for its
 * answer, leaves the connection idle for each of the gaps and uses it again. A connection that the server announced to
 * close, or closed while it was idle, is replaced; a request that finds its connection closing is a failure.
 */
export async function runPooledConnection(port: number, gapsMs: readonly number[]): Promise<PooledRun> {
  let answered = 0;
  let failed = 0;
  let connections = 0;
  let socket: Socket | undefined;
  for (const gapMs of [0, ...gapsMs]) {
    await wait(gapMs);
    if (socket === undefined || socket.destroyed || socket.readableEnded) {
      socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await withTimeout(once(socket, 'connect'), 'the connection of the router');
      connections += 1;
    }
    const answer = await requestOver(socket);
    if (answer === undefined) failed += 1;
    else answered += 1;
    if (answer === undefined || /\r\nconnection: close\r\n/i.test(answer)) {
      socket.destroy();
      socket = undefined;
    }
  }
  socket?.destroy();
  return { answered, failed, connections };
}

/** The head of the answer, or undefined when the connection ended before the answer was whole. */
async function requestOver(socket: Socket): Promise<string | undefined> {
  socket.write('GET / HTTP/1.1\r\nHost: app.example\r\nX-Forwarded-Proto: https\r\n\r\n');
  let text = '';
  const whole = new Promise<string | undefined>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
      if (end !== -1 && text.length >= end + 4 + length) resolve(text.slice(0, end + 2));
    });
    socket.once('close', () => resolve(undefined));
  });
  try {
    return await withTimeout(whole, 'the answer over a pooled connection', 10_000);
  } finally {
    socket.removeAllListeners('data').removeAllListeners('close');
  }
}
