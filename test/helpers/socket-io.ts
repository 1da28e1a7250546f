import type { TestContext } from 'node:test';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { withTimeout } from './timeout.ts';

type Options = Partial<ManagerOptions & SocketOptions>;

/** A client of Socket.IO on this port of 127.0.0.1, which is about to connect, and leaves when the test ends. */
export function openSocketIo(t: TestContext, port: number, options: Options = {}): Socket {
  const socket = io(`http://127.0.0.1:${port}`, { forceNew: true, reconnection: false, ...options });
  t.after(() => socket.disconnect());
  return socket;
}

/** The same, connected. */
export async function connectSocketIo(t: TestContext, port: number, options: Options = {}): Promise<Socket> {
  const socket = openSocketIo(t, port, options);
  await withTimeout(
    new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('connect_error', reject);
    }),
    'Socket.IO to connect',
  );
  return socket;
}

/** Waits for an event with this in it; to be called before what makes it come. */
export function heard<Value>(socket: Socket, event: string, isWanted: (value: Value) => boolean): Promise<Value> {
  const came = new Promise<Value>((resolve) => {
    socket.on(event, function listen(value: Value) {
      if (!isWanted(value)) return;
      socket.off(event, listen);
      resolve(value);
    });
  });
  return withTimeout(came, `the event ${event}`);
}
