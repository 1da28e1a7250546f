import type { CompressOptions } from 'uWebSockets.js';
import type { WebSocketCompression } from '../config/config.ts';
import { uWS } from './uws.ts';

/**
 * What `app.ws` is to agree on with a client that offers permessage-deflate (RFC 7692).
 *
 * What clients send is inflated without a lasting window either way: they send little, and a window of theirs would take
 * another 55 KB for each connection, used or not. For ours, `dedicated`, the size makes no difference in either pinned
 * build: whichever is asked for, 75 KB were seen to be taken, and matches to be found up to some 500 bytes back. This
 * one promises the client 4 KiB at most.
 */
export function compressOptions(compression: WebSocketCompression): CompressOptions {
  if (compression === 'off') return uWS.DISABLED;
  if (compression === 'shared') return uWS.SHARED_COMPRESSOR | uWS.SHARED_DECOMPRESSOR;
  return uWS.DEDICATED_COMPRESSOR_32KB | uWS.SHARED_DECOMPRESSOR;
}
