/** Opcodes of RFC 6455 section 5.2. */
export const CONTINUATION = 0;
export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

/** Most payload that a control frame may carry (section 5.5). */
export const MAX_CONTROL_PAYLOAD = 125;

/** Close codes that we send of our own accord. */
export const GOING_AWAY = 1001;
export const PROTOCOL_ERROR = 1002;
export const INVALID_DATA = 1007;
export const MESSAGE_TOO_BIG = 1009;
export const INTERNAL_ERROR = 1011;
export const TRY_AGAIN_LATER = 1013;

/**
 * Whether a close frame may carry the code (section 7.4 and IANA's registry): 1004, 1005, 1006 and 1015 are never on
 * the wire, 1016 to 2999 are not assigned, and nothing is below 1000 or above 4999.
 */
export function isCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999;
  return code >= 1000 && code <= 1014 && (code < 1004 || code > 1006);
}
