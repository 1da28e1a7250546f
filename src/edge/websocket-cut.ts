import { formatByteSize } from '../lib/byte-size.ts';
import { INVALID_DATA, MESSAGE_TOO_BIG, PROTOCOL_ERROR } from '../upstream/websocket-frame.ts';

/** How uWebSockets.js tells, with code 1006, why it cut a client; the Node 20 build tells the last two only. */
const CUT_REASONS: Record<string, number> = {
  'Received invalid WebSocket frame': PROTOCOL_ERROR,
  'Received invalid UTF-8': INVALID_DATA,
  'Received too big message': MESSAGE_TOO_BIG,
  'Received too big message, or other inflation error': MESSAGE_TOO_BIG,
};

/** The close code that says what a client did which uWebSockets.js has cut, by the reason that it tells. */
export function cutCode(reason: string): number | undefined {
  return CUT_REASONS[reason];
}

/** For the log: a client is told at most a code, and the app's authors look there. */
export function tooBigText(maxBytes: number, setting: string): string {
  const limit = `${formatByteSize(maxBytes)} (${setting})`;
  return `closed the WebSocket of a client: its message is larger than ${limit}, or cannot be decompressed`;
}
