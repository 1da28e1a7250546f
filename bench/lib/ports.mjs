// Ports on loopback. They lie below the range that the kernel takes clients' ports from, so that none is lost to one.
import { connect, createServer } from 'node:net';

const FIRST_PORT = 19_100;
const LAST_PORT = 32_000;
let next = FIRST_PORT;

/** A port nobody listens on; each call gives another. */
export async function freePort() {
  for (; next <= LAST_PORT; ) {
    const port = next++;
    const server = createServer();
    const isFree = await new Promise((resolve) =>
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`);
}

/** What `net.connect` takes for a port of loopback or the path of a unix socket. */
export const addressOf = (place) => (typeof place === 'number' ? { port: place, host: '127.0.0.1' } : { path: place });

/** Waits until a port or unix socket accepts; `check` throws when there is nothing to wait for any more. */
export async function untilOpen(place, { check, withinMs, everyMs = 10 }) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    check();
    const socket = connect(addressOf(place));
    const isOpen = await new Promise((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    );
    socket.destroy();
    if (isOpen) return;
    if (performance.now() > deadline) throw new Error(`nothing listens on ${place} after ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
