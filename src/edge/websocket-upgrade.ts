import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { UpgradeResponse } from '../upstream/websocket-handshake.ts';

/**
 * Answers a client's handshake with 101, after the app has, and makes its connection a WebSocket. Both happen in one
 * cork, so that the head is one packet. uWebSockets.js writes `Upgrade`, `Connection`, `Date` and the `Accept` for the
 * client's own key.
 *
 * `cork` looks at the response's state once more after the callback, although the upgrade has shrunk that memory in
 * place and freed the state: where something else lies there by then, it may take the connection for one to be closed
 * (uNetworking/uWebSockets#1929, in both pinned builds; seen at the first upgrade of a process in every run). So nothing
 * may be allocated natively in between, and to run JavaScript for the first time allocates. That is why the `open`
 * handler must be a built-in function that is bound, `upgrade` the last statement here, and a first `Connection` field
 * of five bytes, which leaves that very state behind, be refused before.
 */
export function upgradeClient(
  res: HttpResponse,
  response: UpgradeResponse,
  key: string,
  userData: object,
  context: us_socket_context_t,
): void {
  const fields = response.fields.map(([name, value]) => [name, fieldValue(value)] as const);
  const protocol = response.protocol ?? '';
  res.cork(() => {
    // The status comes first, or the first field would begin a 200 (uNetworking/uWebSockets.js#331).
    res.writeStatus('101 Switching Protocols');
    for (const [name, value] of fields) res.writeHeader(name, value);
    res.upgrade(userData, key, protocol, '', context);
  });
}

/** uWebSockets.js writes text as UTF-8; the app's bytes go out as they came. */
function fieldValue(latin1: string): string | Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything that is ASCII
  return /^[\x00-\x7f]*$/.test(latin1) ? latin1 : Buffer.from(latin1, 'latin1');
}
