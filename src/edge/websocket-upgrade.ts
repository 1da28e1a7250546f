import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { UpgradeResponse } from '../upstream/websocket-handshake.ts';

/** What uWebSockets.js needs of a client's handshake, when the time has come to answer it. */
export interface ClientHandshake {
  /** `Sec-WebSocket-Key` */
  readonly key: string;
  /** `Sec-WebSocket-Extensions`, of which it agrees on what the route's `compression` allows. */
  readonly extensions: string;
  readonly context: us_socket_context_t;
}

/**
 * Answers a client's handshake with 101, after the app has, and makes its connection a WebSocket. uWebSockets.js writes
 * `Upgrade`, `Connection`, `Date`, and the `Accept` for the client's own key.
 *
 * `cork` looks at the response's state once more after its callback, although the upgrade has shrunk that memory in
 * place and freed the part that holds the state. When something else lies there by then, it may take the connection for
 * one to be closed (uNetworking/uWebSockets#1929; in both pinned builds). So nothing may be allocated natively between
 * `upgrade` and the end of `cork`, and JavaScript may: it is compiled at its first run, and again when it gets hot. Seen
 * on the Node 24 build: the first upgrade of every process was closed, or the ninth. Hence no JavaScript runs there:
 * the callback is `upgrade` itself, bound, so that the app's fields go out before it in a cork of their own; the `open`
 * handler is a bound built-in too, user data (whose copying allocates) is set afterwards, and a first `Connection`
 * field of five bytes, which sets that very state, is refused before. What is left is a garbage collection at that very
 * moment: with a young generation of 1 MiB, two of 240,000 upgrades were closed.
 */
export function upgradeClient(
  res: HttpResponse,
  response: UpgradeResponse,
  { key, extensions, context }: ClientHandshake,
): void {
  const { fields, protocol = '' } = response;
  if (fields.length > 0) {
    res.cork(() => {
      // The status comes first, or the first field would begin a 200 (uNetworking/uWebSockets.js#331).
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of fields) res.writeHeader(name, fieldValue(value));
    });
  }
  res.cork(res.upgrade.bind(res, NO_USER_DATA, key, protocol, extensions, context));
}

const NO_USER_DATA = {};

/** uWebSockets.js writes text as UTF-8; the app's bytes go out as they came. */
function fieldValue(latin1: string): string | Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything that is ASCII
  return /^[\x00-\x7f]*$/.test(latin1) ? latin1 : Buffer.from(latin1, 'latin1');
}
