import { once } from 'node:events';
// Not node:fs/promises, which takes 4 ms and 2 MB to load on Node 24.
import { lstatSync, type Stats, unlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { UwsrpError } from '../lib/errors.ts';
import type { UpstreamTarget } from '../lib/upstream-target.ts';

/** Where the command is asked to listen. */
export interface AppAddress {
  /** What the command's `PORT` says: a port number or the path of a unix socket. */
  readonly value: string;
  /** The port, unless it is a socket. */
  readonly port: number | undefined;
  /** Where to look for it: a port may be served on either address family. */
  readonly candidates: readonly UpstreamTarget[];
  /** True for a port of our own choice. A given port or socket may be served by any process (a sidecar). */
  readonly isOurChoice: boolean;
}

type AddressConfig = Pick<Config, 'appPort' | 'appSocket' | 'port' | 'workDirectory'>;

/** The longest path that fits into a `sockaddr_un` with its closing zero. */
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Chooses where the command shall listen: the given socket (a stale file is removed, a live one is left), the given
 * port, or a port that is free now and is not the public one, which is bound only later.
 *
 * @throws UwsrpError CONFIG_INVALID for a socket path that cannot be one.
 */
export async function chooseAppAddress(config: AddressConfig): Promise<AppAddress> {
  if (config.appSocket !== undefined) {
    const path = resolve(config.workDirectory, config.appSocket);
    await clearSocketPath(path);
    return { value: path, port: undefined, candidates: [{ kind: 'unix', path }], isOurChoice: false };
  }
  const port = config.appPort ?? (await freePort(config.port));
  return {
    value: String(port),
    port,
    candidates: [
      { kind: 'tcp', host: '127.0.0.1', port },
      { kind: 'tcp', host: '::1', port },
    ],
    isOurChoice: config.appPort === undefined,
  };
}

/** A port that is free on all interfaces of both families, since most apps listen on all of them. */
async function freePort(except: number): Promise<number> {
  const server = createServer();
  server.listen({ port: 0, exclusive: true });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Closed only after another one was chosen, or the system could offer the same again.
  const chosen = port === except ? await freePort(except) : port;
  server.close();
  await once(server, 'close');
  return chosen;
}

async function clearSocketPath(path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
    throw new UwsrpError(
      'CONFIG_INVALID',
      `UWSRP_APP_SOCKET: the path has ${Buffer.byteLength(path)} bytes, but a unix socket's may have ${MAX_SOCKET_PATH_BYTES}: choose a shorter one, such as /tmp/app.sock`,
    );
  }
  const entry = tryLstat(path);
  if (entry === undefined) return;
  if (!entry.isSocket()) {
    throw new UwsrpError('CONFIG_INVALID', `UWSRP_APP_SOCKET: ${path} exists and is not a socket: name another path`);
  }
  if (await isLive(path)) return;
  try {
    unlinkSync(path);
  } catch (cause) {
    throw new UwsrpError(
      'CONFIG_INVALID',
      `UWSRP_APP_SOCKET: nobody answers on ${path} and it cannot be removed (${(cause as Error).message}): remove it or name another path`,
      { cause },
    );
  }
}

function tryLstat(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Only a refused connection says that nobody listens; a full backlog or a lack of permission means somebody does. */
async function isLive(path: string): Promise<boolean> {
  const socket = connect({ path });
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}
