/**
 * uWebSockets.js, and the few calls that its types leave out. Rules for all of edge/:
 * read everything from a request before its handler returns; register `onAborted` in the same tick; a body chunk is
 * memory that dies with the callback; later writes go inside `cork`; after end, abort or upgrade a response must not be touched, which one
 * `state` field guards.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp } from 'uWebSockets.js';

export { type HttpRequest, type HttpResponse, type TemplatedApp, uWS };

// Without the header that names uWebSockets on each response. The types of the package do not know the call.
(uWS as unknown as { _cfg(key: string): void })._cfg('silent');

/** Whether this is the newer of the two pinned builds (Node 22 and later), and not the one that Node 20 gets. */
export function isNewerBuild(app: TemplatedApp): boolean {
  return 'addChildAppDescriptor' in app;
}

/** What the response objects of the newer build have; the types of the package do not know it. */
export interface HasRemotePort {
  getRemotePort(): number;
}

export type ListenSocket = uWS.us_listen_socket;

/** What the package's types leave out. */
interface Untyped {
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  listen(host: string, port: number, options: number, done: (socket: ListenSocket | false) => void): void;
}

/**
 * Listens on a port that nobody else has, or that others may share (SO_REUSEPORT), so that each gets a part of the
 * connections. Resolves with undefined when the port cannot be had; uWebSockets.js does not say why.
 */
export function listen(
  app: TemplatedApp,
  { host, port }: { host: string; port: number },
  isShared: boolean,
): Promise<ListenSocket | undefined> {
  const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as Untyped;
  return new Promise((resolve) => {
    const options = isShared ? 0 : LIBUS_LISTEN_EXCLUSIVE_PORT;
    (app as unknown as Untyped).listen(host, port, options, (socket) => {
      resolve(socket === false ? undefined : socket);
    });
  });
}

export function localPort(socket: ListenSocket): number {
  return uWS.us_socket_local_port(socket as unknown as uWS.us_socket);
}

export function closeListenSocket(socket: ListenSocket): void {
  uWS.us_listen_socket_close(socket);
}
