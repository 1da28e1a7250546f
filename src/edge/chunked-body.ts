import type { HttpResponse } from './uws.ts';

/** Size of the buffer in which uWebSockets.js collects what is written in one cork. */
export const CORK_BYTES = 16 * 1024;
/** The most that the size of a chunk and the line ends around it take. */
const FRAME_BYTES = 16;

/** What can be written in one cork together with a head. */
export const SMALL_BODY_BYTES = CORK_BYTES / 2;

/**
 * Writes chunks to uWebSockets.js from the front of `chunks`, takes out what is written, and ends the body if `isLast`.
 * False when the client does not keep up: what is left may be written when the response is writable again. Never more
 * goes into one cork than its buffer holds, for two reasons:
 *
 * - The older build loses a chunk that does not fit, when what is in the buffer is sent first and the kernel takes
 *   nothing of it.
 * - What is in the buffer counts as written, so that `write` says "go on" for a client that takes nothing. Of much data,
 *   and whenever the client was slow before (`isSlow`), the last byte has a cork of its own: its `write` tells what
 *   became of the corks before it. Else the end of a body could wait inside uWebSockets.js unnoticed, and would be lost
 *   when that gives the client up after 10 s.
 */
export function writeChunks(res: HttpResponse, chunks: Buffer[], isLast: boolean, isSlow: boolean): boolean {
  const lastByte = isSlow || byteCount(chunks) > SMALL_BODY_BYTES ? detachLastByte(chunks) : undefined;
  let isTaken = true;
  const writeCorkful = (mayEnd: boolean) => {
    for (let room = CORK_BYTES; isTaken && room > FRAME_BYTES && chunks.length > 0; ) {
      const chunk = chunks[0]!;
      const slice = chunk.subarray(0, room - FRAME_BYTES);
      // Not taken means queued, all of it: it must not be written again.
      isTaken = res.write(slice);
      room -= slice.length + FRAME_BYTES;
      if (slice.length < chunk.length) chunks[0] = chunk.subarray(slice.length);
      else chunks.shift();
    }
    if (mayEnd && isTaken && chunks.length === 0) res.end();
  };

  do res.cork(() => writeCorkful(isLast && lastByte === undefined));
  while (isTaken && chunks.length > 0);
  if (lastByte === undefined) return isTaken;
  chunks.push(lastByte);
  if (isTaken) res.cork(() => writeCorkful(isLast));
  return isTaken;
}

function byteCount(chunks: readonly Buffer[]): number {
  let count = 0;
  for (const chunk of chunks) count += chunk.length;
  return count;
}

function detachLastByte(chunks: Buffer[]): Buffer | undefined {
  const last = chunks.pop();
  if (last === undefined) return undefined;
  if (last.length > 1) chunks.push(last.subarray(0, -1));
  return last.subarray(-1);
}
