/** How the end of a request's body is known. `text` is the length as the client wrote it: digits, nothing else. */
export type RequestFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number; readonly text: string }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'invalid'; readonly reason: string };

const NONE: RequestFraming = { kind: 'none' };
const CHUNKED: RequestFraming = { kind: 'chunked' };
const EMPTY: RequestFraming = { kind: 'length', length: 0, text: '0' };
const BAD_CODING = invalid('Transfer-Encoding is not "chunked"');
const BAD_LENGTH = invalid('Content-Length is not a number');
const BOTH = invalid('Content-Length and Transfer-Encoding together');

const CODING = 'chunked';

/** Digits of 2^53-1, the longest length that a number holds exactly. */
const MAX_DIGITS = 16;

/**
 * Reads the framing of a request, refusing all that two parsers might read in two ways (RFC 9112 section 6.3):
 * `Transfer-Encoding` must be `chunked` alone, in any case; `Content-Length` one plain number up to 2^53-1 without
 * leading zeros; never both. uWebSockets.js takes any coding for chunked, so this is the fence before the app.
 *
 * A repeated field must be joined with `, ` by the caller. Equal lengths repeated are refused too: the RFC allows to
 * fold them, but no client sends them, and the next hop may read them otherwise. The method has no say.
 */
export function requestFraming(
  contentLength: string | undefined,
  transferEncoding: string | undefined,
): RequestFraming {
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined) return BOTH;
    return isChunked(transferEncoding) ? CHUNKED : BAD_CODING;
  }
  if (contentLength === undefined) return NONE;
  if (contentLength === '0') return EMPTY;
  const length = tryLength(contentLength);
  return length === undefined ? BAD_LENGTH : { kind: 'length', length, text: contentLength };
}

/** In any case, of ASCII only: `toLowerCase` makes a `k` of U+212A, which is no letter of a coding. */
function isChunked(value: string): boolean {
  if (value.length !== CODING.length) return false;
  for (let index = 0; index < CODING.length; index++) {
    if ((value.charCodeAt(index) | 0x20) !== CODING.charCodeAt(index)) return false;
  }
  return true;
}

/** Digits only, read one by one: `Number` and `parseInt` let `0x5`, ` 5`, `5e0` and `5,5` pass. */
function tryLength(text: string): number | undefined {
  if (text.length === 0 || text.length > MAX_DIGITS || text.charCodeAt(0) === 48) return undefined;
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return undefined;
    length = length * 10 + digit;
  }
  return length <= Number.MAX_SAFE_INTEGER ? length : undefined;
}

function invalid(reason: string): RequestFraming {
  return { kind: 'invalid', reason };
}
