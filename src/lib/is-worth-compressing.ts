/** Deflate gains nothing on a message that is shorter. */
const MIN_BYTES = 64;

/** Whether a WebSocket message of this length is to be compressed, where its receiver takes it so. */
export function isWorthCompressing(bytes: number): boolean {
  return bytes >= MIN_BYTES;
}
