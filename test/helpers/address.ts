import type { NetConnectOpts } from 'node:net';

/** Where a test connects: a port of 127.0.0.1, a host and port, or a unix socket. */
export type Address = number | { readonly host: string; readonly port: number } | { readonly path: string };

export function connectOptions(address: Address): NetConnectOpts {
  if (typeof address === 'number') return { host: '127.0.0.1', port: address };
  return { ...address };
}
