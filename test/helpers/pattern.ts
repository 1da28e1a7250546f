import { createHash } from 'node:crypto';

const PERIOD = 65_521;
const block = Buffer.from(Array.from({ length: PERIOD }, (_, index) => (index * 31 + (index >> 8) * 7) & 255));

/** The bytes that `/bytes/<count>` of test/fixtures/apps/node-http.js sends, in pieces. */
export function* patternOf(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= PERIOD) yield left >= PERIOD ? block : block.subarray(0, left);
}

/** SHA-256 of those bytes, in hex. */
export function patternHash(count: number): string {
  const hash = createHash('sha256');
  for (const piece of patternOf(count)) hash.update(piece);
  return hash.digest('hex');
}
