/**
 * The head of one response from the app, kept as the bytes came: `fields` is the text of its end-to-end field lines,
 * in order, so that the edge can hand them on in one piece. Text is latin-1: one char is one byte of the wire.
 * One object per connection is used again for each response.
 */
export class ResponseHead {
  status = 0;
  /** What follows the version: `200 OK`, or `200 ` when the app gave no reason. */
  statusLine = '';
  /** Field lines with CRLF between them and none at the end; framing, hop-by-hop fields and Date are left out. */
  fields = '';
  /** False when `fields` holds bytes above 0x7F, which must reach the client as bytes and not as text. */
  isAscii = true;
  /** The app's Content-Length; -1 when it sent none. In answers to HEAD and in 304 it says what a GET would give. */
  contentLength = -1;
  isChunked = false;
  /** Whether the app will take another request on this connection once this response is complete. */
  keepAlive = true;
  /** From `Keep-Alive: timeout=`, in seconds; -1 when absent. */
  keepAliveTimeout = -1;
  /** `text/event-stream` without a Content-Encoding: its head must not wait for the first event. */
  isEventStream = false;
  hasStrictTransportSecurity = false;
  hasRequestId = false;

  /** 204, 304 and answers to HEAD end with their head (RFC 9112 section 6.3 items 1 and 2). */
  isBodiless(isHeadRequest: boolean): boolean {
    return isHeadRequest || this.status === 204 || this.status === 304;
  }
}

/** The head is not complete: its blank line is still to come. */
export const INCOMPLETE = -1;

const CR = 0x0d;
const LF = 0x0a;
const BLANK = 0x20;
const TAB = 0x09;
const COLON = 0x3a;

/** 1 for the bytes of a token, of which names consist (RFC 9110 section 5.6.2). */
const IS_TOKEN = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  IS_TOKEN[char.charCodeAt(0)] = 1;
}

/** What a value or a reason may hold (RFC 9110 section 5.5): 1 for ASCII, 2 for the bytes above it. */
const VALUE_KIND = new Uint8Array(256).fill(1, BLANK, 0x7f).fill(2, 0x80);
VALUE_KIND[TAB] = 1;

/** One line of a trailer section, with its CRLF. */
export const FIELD_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n$/;

const WITHOUT_CR = 'a header line ends without CR';
const VERSION = Buffer.from('HTTP/1.', 'latin1');
/** `HTTP/1.1 200` and a CRLF. */
const LEAST_STATUS_LINE = 14;
const MAX_LENGTH_DIGITS = 16;

/** Where each line that is left out begins and ends, of the head that is being read. */
const dropped: number[] = [];

/**
 * Reads the response head that begins at `start` of `buffer`, whose bytes end at `end`: one pass, byte by byte, in which
 * every byte is proven before anything is made of it. Fills `head` and returns the position behind the blank line, or
 * INCOMPLETE, or why the head is refused. Nothing is guessed: a framing that two readers could understand in two ways
 * is refused (RFC 9112 section 6.3), and so are folded lines (section 5.2), and a CR or LF that stands alone.
 */
export function parseResponseHead(buffer: Buffer, start: number, end: number, head: ResponseHead): number | string {
  const fieldsStart = parseStatusLine(buffer, start, end, head);
  if (typeof fieldsStart === 'string' || fieldsStart === INCOMPLETE) return fieldsStart;
  const isHttp10 = buffer[start + 7] === 0x30;
  head.contentLength = -1;
  head.isChunked = false;
  head.keepAlive = !isHttp10;
  head.keepAliveTimeout = -1;
  head.isEventStream = false;
  head.hasStrictTransportSecurity = false;
  head.hasRequestId = false;

  let nominated: Set<string> | undefined;
  let hasClose = false;
  let hasUpgrade = false;
  let isEncoded = false;
  let hasTransferEncoding = false;
  let kinds = 1;
  let droppedCount = 0;
  let position = fieldsStart;
  for (;;) {
    const line = position;
    while (position < end && IS_TOKEN[buffer[position]!] === 1) position += 1;
    if (position === end) return INCOMPLETE;
    const colon = position;
    if (buffer[colon] !== COLON || colon === line) {
      if (colon === line && buffer[line] === LF) return WITHOUT_CR;
      if (colon !== line || buffer[line] !== CR) return 'a header line is malformed';
      if (line + 1 === end) return INCOMPLETE;
      if (buffer[line + 1] !== LF) return 'a header line is malformed';
      position = line + 2;
      break;
    }
    position += 1;
    while (position < end) {
      const kind = VALUE_KIND[buffer[position]!]!;
      if (kind === 0) break;
      kinds |= kind;
      position += 1;
    }
    if (position === end) return INCOMPLETE;
    const lineEnd = position;
    if (buffer[lineEnd] === LF) return WITHOUT_CR;
    if (buffer[lineEnd] !== CR) return 'a header line is malformed';
    if (lineEnd + 1 === end) return INCOMPLETE;
    if (buffer[lineEnd + 1] !== LF) return 'a header line is malformed';
    position = lineEnd + 2;

    let isKept = true;
    // Only names of these lengths mean anything here; all others pass unread.
    switch (colon - line) {
      case 2:
        isKept = !isName(buffer, line, 'te');
        break;
      case 4:
        // uWebSockets.js always writes a Date of its own; the client gets one.
        isKept = !isName(buffer, line, 'date');
        break;
      case 7:
        if (isName(buffer, line, 'upgrade')) hasUpgrade = true;
        else isKept = !isName(buffer, line, 'trailer');
        break;
      case 10:
        if (isName(buffer, line, 'connection')) {
          isKept = false;
          // As nearly all apps write it.
          if (isName(buffer, colon + 2, 'keep-alive') && colon + 12 === lineEnd && buffer[colon + 1] === BLANK) {
            head.keepAlive = true;
            break;
          }
          for (const option of buffer
            .toString('latin1', colon + 1, lineEnd)
            .toLowerCase()
            .split(',')) {
            const name = trimmed(option);
            if (name === 'close') hasClose = true;
            else if (name === 'keep-alive') head.keepAlive = true;
            else if (name !== '' && name !== 'upgrade') {
              nominated ??= new Set();
              nominated.add(name);
            }
          }
        } else if (isName(buffer, line, 'keep-alive')) {
          isKept = false;
          const timeout = /(?:^|[\s,])timeout=([0-9]{1,6})/i.exec(buffer.toString('latin1', colon + 1, lineEnd));
          if (timeout) head.keepAliveTimeout = Number(timeout[1]);
        }
        break;
      case 12:
        if (isName(buffer, line, 'content-type')) head.isEventStream = isEventStream(buffer, colon + 1, lineEnd);
        else head.hasRequestId ||= isName(buffer, line, 'x-request-id');
        break;
      case 14:
        if (isName(buffer, line, 'content-length')) {
          isKept = false;
          if (head.contentLength !== -1) return 'it has more than one Content-Length';
          head.contentLength = parseLength(buffer, colon + 1, lineEnd);
          if (head.contentLength === -1) return 'its Content-Length is not a number';
          if (!Number.isSafeInteger(head.contentLength)) return 'its Content-Length is too large';
        }
        break;
      case 16:
        if (isName(buffer, line, 'content-encoding')) isEncoded = true;
        else isKept = !isName(buffer, line, 'proxy-connection');
        break;
      case 17:
        if (isName(buffer, line, 'transfer-encoding')) {
          isKept = false;
          if (hasTransferEncoding) return 'it has more than one Transfer-Encoding';
          hasTransferEncoding = true;
          const coding = trimmed(buffer.toString('latin1', colon + 1, lineEnd));
          if (coding.toLowerCase() !== 'chunked') return 'its Transfer-Encoding is not "chunked"';
        }
        break;
      case 18:
        isKept = !isName(buffer, line, 'proxy-authenticate');
        break;
      case 25:
        if (isName(buffer, line, 'strict-transport-security')) head.hasStrictTransportSecurity = true;
        else isKept = !isName(buffer, line, 'proxy-authentication-info');
        break;
    }
    if (!isKept) {
      dropped[droppedCount] = line;
      dropped[droppedCount + 1] = position;
      droppedCount += 2;
    }
  }
  let kept = keptLines(buffer, fieldsStart, position - 2, droppedCount);
  head.isAscii = kinds === 1;

  // RFC 9112 section 9.3: close goes before keep-alive, wherever each stands.
  if (hasClose) head.keepAlive = false;
  if (hasTransferEncoding) {
    // RFC 9112 section 6.1: HTTP/1.0 knows no Transfer-Encoding, and with a Content-Length it is an attack or a bug.
    if (isHttp10) return 'it has a Transfer-Encoding in HTTP/1.0';
    if (head.contentLength !== -1) return 'it has both Transfer-Encoding and Content-Length';
    head.isChunked = true;
  }
  // Upgrade is hop-by-hop, but on 426 it is the message itself (RFC 9110 section 15.5.22).
  const isUpgradeRequired = hasUpgrade && head.status === 426;
  if (hasUpgrade && !isUpgradeRequired) {
    nominated ??= new Set();
    nominated.add('upgrade');
  }
  if (nominated !== undefined) {
    kept = withoutFields(kept, nominated);
    // What was dropped must not be acted on as if it had been sent.
    if (nominated.has('strict-transport-security')) head.hasStrictTransportSecurity = false;
    if (nominated.has('x-request-id')) head.hasRequestId = false;
    if (nominated.has('content-type')) head.isEventStream = false;
  }
  if (isUpgradeRequired) kept += 'Connection: upgrade\r\n';

  if (isEncoded) head.isEventStream = false;
  head.fields = kept === '' ? kept : kept.slice(0, -2);
  return position;
}

/**
 * The text of the lines between `start` and `end`, less those in `dropped`. Made of one call for all the bytes: each
 * further one would cost more than the bytes that it leaves out.
 */
function keptLines(buffer: Buffer, start: number, end: number, droppedCount: number): string {
  if (start === end) return '';
  const text = buffer.toString('latin1', start, end);
  let kept = '';
  let runStart = start;
  for (let i = 0; i < droppedCount; i += 2) {
    const line = dropped[i]!;
    if (line > runStart) kept += text.slice(runStart - start, line - start);
    runStart = dropped[i + 1]!;
  }
  return end > runStart ? kept + text.slice(runStart - start) : kept;
}

/** `HTTP-version SP status-code [ SP reason-phrase ] CRLF` (RFC 9112 section 4); garbage is refused at its first byte. */
function parseStatusLine(buffer: Buffer, start: number, end: number, head: ResponseHead): number | string {
  for (let i = 0; i < VERSION.length; i += 1) {
    if (start + i === end) return INCOMPLETE;
    if (buffer[start + i] !== VERSION[i]) return 'its status line is malformed';
  }
  if (end - start < LEAST_STATUS_LINE) return INCOMPLETE;
  const minor = buffer[start + 7]!;
  const hundreds = buffer[start + 9]! - 0x30;
  const tens = buffer[start + 10]! - 0x30;
  const ones = buffer[start + 11]! - 0x30;
  const isCode = hundreds >= 1 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9;
  if ((minor !== 0x30 && minor !== 0x31) || buffer[start + 8] !== BLANK || !isCode)
    return 'its status line is malformed';

  const behindCode = start + 12;
  let position = behindCode;
  if (buffer[position] === BLANK) {
    while (position < end && VALUE_KIND[buffer[position]!] !== 0) position += 1;
    if (position === end) return INCOMPLETE;
  }
  if (buffer[position] !== CR) return 'its status line is malformed';
  if (position + 1 === end) return INCOMPLETE;
  if (buffer[position + 1] !== LF) return 'its status line is malformed';

  head.status = hundreds * 100 + tens * 10 + ones;
  if (position === behindCode) head.statusLine = `${head.status} `;
  else if (head.status === 200 && isOk(buffer, behindCode + 1, position)) head.statusLine = '200 OK';
  else head.statusLine = buffer.toString('latin1', start + 9, position);
  return position + 2;
}

/** Nearly every response says this: no string has to be made for it. */
function isOk(buffer: Buffer, start: number, end: number): boolean {
  return end - start === 2 && buffer[start] === 0x4f && buffer[start + 1] === 0x4b;
}

/** Whether the token at `start` is this name; the caller knows that it has the same length. */
function isName(buffer: Buffer, start: number, lowerCaseName: string): boolean {
  for (let i = 0; i < lowerCaseName.length; i += 1) {
    // Sets the bit that tells lower case from upper; no byte of a token but a letter becomes a letter by it.
    if ((buffer[start + i]! | 0x20) !== lowerCaseName.charCodeAt(i)) return false;
  }
  return true;
}

/** Digits with blanks around them, nothing else (RFC 9110 section 8.6); -1 for anything else. */
function parseLength(buffer: Buffer, start: number, end: number): number {
  let first = start;
  let behind = end;
  while (first < behind && isBlank(buffer[first]!)) first += 1;
  while (behind > first && isBlank(buffer[behind - 1]!)) behind -= 1;
  if (behind === first || behind - first > MAX_LENGTH_DIGITS) return -1;
  let length = 0;
  for (let i = first; i < behind; i += 1) {
    const digit = buffer[i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    length = length * 10 + digit;
  }
  return length;
}

/** A first look at the bytes, since nearly every response has another type. */
function isEventStream(buffer: Buffer, start: number, end: number): boolean {
  let first = start;
  while (first < end && isBlank(buffer[first]!)) first += 1;
  if (end - first < 17 || (buffer[first + 5]! | 0x20) !== 0x65) return false;
  return /^text\/event-stream(?![^\t ;])/i.test(buffer.toString('latin1', first, end));
}

/**
 * A text without the blanks around it (RFC 9110 section 5.6.3). `trim()` would also take 0xA0, which is no blank here; a
 * regular expression would be quadratic in a run of blanks.
 */
function trimmed(text: string): string {
  let first = 0;
  let behind = text.length;
  while (first < behind && isBlank(text.charCodeAt(first))) first += 1;
  while (behind > first && isBlank(text.charCodeAt(behind - 1))) behind -= 1;
  return text.slice(first, behind);
}

function isBlank(char: number): boolean {
  return char === BLANK || char === TAB;
}

/** Leaves out the lines whose name is in `names` (lower case): what the app's Connection field nominated. */
function withoutFields(lines: string, names: ReadonlySet<string>): string {
  let kept = '';
  for (const line of lines.split('\r\n')) {
    if (line !== '' && !names.has(line.slice(0, line.indexOf(':')).toLowerCase())) kept += `${line}\r\n`;
  }
  return kept;
}
