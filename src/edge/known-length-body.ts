import { CORK_BYTES, SMALL_BODY_BYTES } from './chunked-body.ts';
import type { HttpResponse } from './uws.ts';

// What is being written in a cork: a function of each write's own would be one more object for each read of the app.
let corked: HttpResponse;
let chunk: Buffer;
let length: number;
let result: [boolean, boolean];
const tryEndCorked = () => {
  result = corked.tryEnd(chunk, length);
};

/**
 * Writes chunks of a body of `contentLength` bytes to uWebSockets.js from the front of `chunks`, and takes out what is
 * written. False when the client does not keep up: what is left may be written when the response is writable again.
 *
 * All of it is written in corks, since uWebSockets.js complains on standard error of each write outside of one. A chunk
 * that is larger than the cork's buffer goes by it to the kernel, which tells how much it took. A smaller one lies in
 * the buffer and counts as written, and what the kernel does not take of it waits inside uWebSockets.js. For what comes
 * behind it that makes no difference; but the end of a body would be lost there when that gives the client up after
 * 10 s. So the last byte (`isLast`) has a cork of its own: it is only taken when all before it is gone.
 */
export function writeKnownLength(
  res: HttpResponse,
  chunks: Buffer[],
  contentLength: number,
  isLast: boolean,
  bodyBytes: number,
): boolean {
  corked = res;
  length = contentLength;
  while (chunks.length > 0) {
    const next = chunks[0]!;
    const holdsEnd = isLast && chunks.length === 1 && bodyBytes > SMALL_BODY_BYTES;
    chunk = holdsEnd && next.length > 1 && next.length <= CORK_BYTES ? next.subarray(0, -1) : next;
    const before = res.getWriteOffset();
    res.cork(tryEndCorked);
    const [isAllSent, isDone] = result;
    if (isDone) {
      chunks.shift();
      return true;
    }
    const written = isAllSent ? chunk.length : res.getWriteOffset() - before;
    if (written === next.length) chunks.shift();
    else chunks[0] = next.subarray(written);
    if (!isAllSent) return false;
  }
  return true;
}
