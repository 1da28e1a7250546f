import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import type { TestContext } from 'node:test';

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Detour {
  readonly port: number;
  /** New connections lead there from now on; open ones stay where they are. */
  lead(target: Target): void;
}

/** A port of 127.0.0.1 that stays the same while what serves behind it is replaced, as a platform's router is at a deploy. */
export async function startDetour(t: TestContext, first: Target): Promise<Detour> {
  let target = first;
  const server = createServer((client) => {
    const onward = connect(target);
    pipeline(client, onward, client, () => {});
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, lead: (next) => (target = next) };
}
