import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { UwsrpError } from '../lib/errors.ts';

/** Where the public port is bound. Without a host: all interfaces. */
export interface PublicPort {
  readonly host: string | undefined;
  /** 0 lets the system choose one. */
  readonly port: number;
}

/** Why the port could not be bound: uWebSockets.js does not say it, a plain server on the same port does. */
export async function bindFailure({ host, port }: PublicPort): Promise<UwsrpError> {
  const error = await tryPort({ host, port }).then(
    () => undefined,
    (cause: NodeJS.ErrnoException) => cause,
  );
  const where = host === undefined ? `port ${port}` : `${host}, port ${port}`;
  return new UwsrpError('BIND_FAILED', `${where} cannot be bound: ${explain(error)}`);
}

/**
 * Proves that nobody else has the port, and gives its number. For several threads that are to share it: each of them
 * could share it with a stranger as well, and would not notice. Rejects with BIND_FAILED.
 */
export async function claimPort(wanted: PublicPort): Promise<number> {
  try {
    return await tryPort(wanted);
  } catch {
    throw await bindFailure(wanted);
  }
}

async function tryPort({ host, port }: PublicPort): Promise<number> {
  const server = createServer();
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return bound;
}

function explain(error: NodeJS.ErrnoException | undefined): string {
  switch (error?.code) {
    case 'EADDRINUSE':
      return 'another process listens on it. Set PORT to a free port, or end that process';
    case 'EACCES':
      return 'this user may not use ports below 1024. Set PORT to a higher one';
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
    case 'ENOTFOUND':
      return 'UWSRP_HOST is not an address of this machine';
    default:
      return error === undefined ? 'uWebSockets.js refused it' : error.message;
  }
}
