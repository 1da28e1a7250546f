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

  /** 204, 304 and answers to HEAD end with their head (RFC 9112 section 6.3 items 1 and 2). */
  isBodiless(isHeadRequest: boolean): boolean {
    return isHeadRequest || this.status === 204 || this.status === 304;
  }
}

// One pass proves the whole head: names are tokens, values hold no control bytes, every line ends in CRLF
// (RFC 9110 section 5.6.2 and 5.5, RFC 9112 section 5). Folded lines fail, as section 5.2 allows.
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const ASCII_FIELDS = new RegExp(`^(?:${TOKEN}:[\\t\\x20-\\x7e]*\\r\\n)*$`);
const LATIN1_FIELDS = new RegExp(`^(?:${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n)*$`);
/** One line of a head or of a trailer section, with its CRLF. */
export const FIELD_LINE = new RegExp(`^${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n$`);
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9][0-9](?: [\t\x20-\x7e\x80-\xff]*)?$/;
const CONTENT_LENGTH = /^[0-9]{1,16}$/;

/**
 * Reads a response head: `text` is everything from the status line to the last field's CRLF, without the blank line.
 * Fills `head` and returns undefined, or returns why the head is refused. Nothing is guessed: a framing that two
 * readers could understand in two ways is refused (RFC 9112 section 6.3).
 */
export function parseResponseHead(text: string, head: ResponseHead): string | undefined {
  const statusEnd = text.indexOf('\r\n');
  const statusLine = text.slice(0, statusEnd);
  if (!STATUS_LINE.test(statusLine)) return 'its status line is malformed';
  const isHttp10 = statusLine.charCodeAt(7) === 0x30;
  head.status = Number(statusLine.slice(9, 12));
  head.statusLine = statusLine.length === 12 ? `${statusLine.slice(9)} ` : statusLine.slice(9);
  head.contentLength = -1;
  head.isChunked = false;
  head.keepAlive = !isHttp10;
  head.keepAliveTimeout = -1;
  head.isEventStream = false;
  head.hasStrictTransportSecurity = false;
  head.fields = '';

  const start = statusEnd + 2;
  const lines = text.slice(start);
  head.isAscii = ASCII_FIELDS.test(lines);
  if (!head.isAscii && !LATIN1_FIELDS.test(lines)) return 'a header line is malformed';

  let nominated: Set<string> | undefined;
  let hasClose = false;
  let hasUpgrade = false;
  let isEncoded = false;
  let hasTransferEncoding = false;
  let kept = '';
  let runStart = 0;
  let position = 0;
  while (position < lines.length) {
    const colon = lines.indexOf(':', position);
    const end = lines.indexOf('\r\n', colon);
    let isKept = true;
    // Only names of these lengths mean anything here; all others pass unread.
    switch (colon - position) {
      case 2:
        isKept = !isName(lines, position, colon, 'te');
        break;
      case 4:
        // uWebSockets.js always writes a Date of its own; the client gets one.
        isKept = !isName(lines, position, colon, 'date');
        break;
      case 7:
        if (isName(lines, position, colon, 'upgrade')) hasUpgrade = true;
        else isKept = !isName(lines, position, colon, 'trailer');
        break;
      case 10:
        if (isName(lines, position, colon, 'connection')) {
          isKept = false;
          for (const option of lines.slice(colon + 1, end).split(',')) {
            const name = trimmed(option, 0, option.length).toLowerCase();
            if (name === 'close') hasClose = true;
            else if (name === 'keep-alive') head.keepAlive = true;
            else if (name !== '' && name !== 'upgrade') {
              nominated ??= new Set();
              nominated.add(name);
            }
          }
        } else if (isName(lines, position, colon, 'keep-alive')) {
          isKept = false;
          const timeout = /(?:^|[\s,])timeout=([0-9]{1,6})/i.exec(lines.slice(colon + 1, end));
          if (timeout) head.keepAliveTimeout = Number(timeout[1]);
        }
        break;
      case 12:
        if (isName(lines, position, colon, 'content-type')) {
          head.isEventStream = /^[\t ]*text\/event-stream(?![^\t ;])/i.test(lines.slice(colon + 1, end));
        }
        break;
      case 14:
        if (isName(lines, position, colon, 'content-length')) {
          isKept = false;
          const value = trimmed(lines, colon + 1, end);
          if (head.contentLength !== -1) return 'it has more than one Content-Length';
          if (!CONTENT_LENGTH.test(value)) return 'its Content-Length is not a number';
          head.contentLength = Number(value);
          if (!Number.isSafeInteger(head.contentLength)) return 'its Content-Length is too large';
        }
        break;
      case 16:
        if (isName(lines, position, colon, 'content-encoding')) isEncoded = true;
        else isKept = !isName(lines, position, colon, 'proxy-connection');
        break;
      case 17:
        if (isName(lines, position, colon, 'transfer-encoding')) {
          isKept = false;
          if (hasTransferEncoding) return 'it has more than one Transfer-Encoding';
          hasTransferEncoding = true;
          const coding = trimmed(lines, colon + 1, end);
          if (coding.toLowerCase() !== 'chunked') return 'its Transfer-Encoding is not "chunked"';
        }
        break;
      case 18:
        isKept = !isName(lines, position, colon, 'proxy-authenticate');
        break;
      case 25:
        if (isName(lines, position, colon, 'strict-transport-security')) head.hasStrictTransportSecurity = true;
        else isKept = !isName(lines, position, colon, 'proxy-authentication-info');
        break;
    }
    if (!isKept) {
      if (position > runStart) kept += lines.slice(runStart, position);
      runStart = end + 2;
    }
    position = end + 2;
  }
  if (runStart < lines.length) kept += lines.slice(runStart);

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
    if (nominated.has('content-type')) head.isEventStream = false;
  }
  if (isUpgradeRequired) kept += 'Connection: upgrade\r\n';

  head.isEventStream &&= !isEncoded;
  head.fields = kept.endsWith('\r\n') ? kept.slice(0, -2) : kept;
  return undefined;
}

function isName(text: string, start: number, end: number, lowerCaseName: string): boolean {
  return text.slice(start, end).toLowerCase() === lowerCaseName;
}

/**
 * The value between two positions without the blanks around it (RFC 9110 section 5.6.3). `trim()` would also take 0xA0,
 * which is no blank here; a regular expression would be quadratic in a run of blanks.
 */
function trimmed(text: string, start: number, end: number): string {
  let first = start;
  let behind = end;
  while (first < behind && isBlank(text.charCodeAt(first))) first += 1;
  while (behind > first && isBlank(text.charCodeAt(behind - 1))) behind -= 1;
  return text.slice(first, behind);
}

function isBlank(char: number): boolean {
  return char === 0x20 || char === 0x09;
}

/** Leaves out the lines whose name is in `names` (lower case): what the app's Connection field nominated. */
function withoutFields(lines: string, names: ReadonlySet<string>): string {
  let kept = '';
  for (const line of lines.split('\r\n')) {
    if (line !== '' && !names.has(line.slice(0, line.indexOf(':')).toLowerCase())) kept += `${line}\r\n`;
  }
  return kept;
}
