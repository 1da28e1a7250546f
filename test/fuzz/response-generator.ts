import type { Random } from '../helpers/random.ts';

export interface GeneratedResponse {
  /** Latin-1 text: one char is one byte. */
  readonly bytes: string;
  readonly isHeadRequest: boolean;
  /** What the response is, when it was left as it was built; undefined when it was mutated. */
  readonly valid: { readonly status: number; readonly body: string; readonly end: number } | undefined;
}

const STATUSES = [200, 200, 200, 200, 201, 204, 205, 206, 301, 304, 400, 404, 413, 426, 500, 503, 599, 999];
const REASONS = ['', ' ', ' OK', ' OK', ' OK', ' Not Found', ' a  b\t', ' S\xfc\xdf', ' HTTP/1.1 200 OK'];
const LINES = [
  'Content-Type: text/html; charset=utf-8',
  'content-type:text/event-stream',
  'Content-Encoding: gzip',
  'Set-Cookie: a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT',
  'Set-Cookie:b=2',
  'Date: Tue, 15 Nov 1994 08:12:31 GMT',
  'Server: x',
  'X-Empty:',
  'X-Blank: \t ',
  'X-Latin1: \xe4\xff\x80',
  "X!#$%&'*+.^_`|~9: token",
  'X-Colons: a:b: c',
  'X-Hop: 1',
  'x-other: 2',
  'Connection: keep-alive',
  'Connection: close',
  'connection:Keep-Alive, X-Hop',
  'Connection: upgrade , x-OTHER,',
  'Connection: Content-Type',
  'Connection: Content-Length, Transfer-Encoding',
  'Connection:',
  'Keep-Alive: timeout=5, max=9',
  'Proxy-Connection: close',
  'Proxy-Authenticate: Basic',
  'TE: trailers',
  'Trailer: X-T',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'Vary: *',
  'ETag: W/"x"',
  'Strict-Transport-Security: max-age=1',
];
const EXTENSIONS = ['', '', '', ';a', ';a=1', ';x="a;b"', ' ; y', ';\xe4\t', '  ', ';'];
const TRAILERS = ['X-T: 1', 'Content-Length: 5', 'Transfer-Encoding: chunked', 'X-Empty:', 'x:\xe4'];
const BEHIND = ['', '', '', '\r\n', 'x', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny', '0\r\n\r\n'];

/** One response of any framing, as an app might send it; half of them mutated afterwards. */
export function generateResponse(random: Random): GeneratedResponse {
  const isHeadRequest = random.chance(1 / 8);
  const isHttp10 = random.chance(1 / 8);
  const status = random.pick(STATUSES);
  const lines = Array.from({ length: random.between(0, 7) }, () => random.pick(LINES));
  const isBodiless = isHeadRequest || status === 204 || status === 304;
  const framing = random.pick(isHttp10 ? ['length', 'close'] : ['length', 'length', 'chunked', 'chunked', 'close']);
  let body = randomBody(random);
  let payload = body;
  if (framing === 'length') lines.splice(random.between(0, lines.length), 0, lengthLine(random, body.length));
  if (framing === 'chunked') {
    const name = random.pick([
      'Transfer-Encoding: chunked',
      'transfer-encoding:Chunked',
      'TRANSFER-ENCODING: \tCHUNKED ',
    ]);
    lines.splice(random.between(0, lines.length), 0, name);
    payload = chunksOf(random, body);
  }
  if (isBodiless) {
    body = '';
    // A wrong app may send it nevertheless.
    if (!random.chance(1 / 4)) payload = '';
  }
  const version = isHttp10 ? 'HTTP/1.0' : 'HTTP/1.1';
  const head = [`${version} ${status}${random.pick(REASONS)}`, ...lines, '\r\n'].join('\r\n');
  const interim = upTo(random, 3, () => interimResponse(random));
  const own = `${interim}${head}${payload}`;
  const bytes = framing === 'close' ? own : `${own}${random.pick(BEHIND)}`;
  const end = interim.length + head.length + (isBodiless ? 0 : payload.length);
  if (random.chance(1 / 2)) return { bytes, isHeadRequest, valid: { status, body, end } };

  let mutated = bytes;
  for (let count = random.between(1, 3); count > 0; count -= 1) mutated = mutate(random, mutated);
  return { bytes: mutated, isHeadRequest, valid: undefined };
}

/** Up to `most` texts behind each other; none more often than not. */
function upTo(random: Random, most: number, make: () => string): string {
  return Array.from({ length: Math.max(0, random.between(-most, most)) }, make).join('');
}

function randomBody(random: Random): string {
  const length = random.pick([0, 1, 2, 5, 16, 17, 100, random.between(0, 999)]);
  const alphabet = random.pick(['a', 'ab\r\n', '0\r\n', '\0\xff\r\n:;', 'HTTP/1. 20\r\n']);
  let piece = '';
  for (let i = 0; i < 16; i += 1) piece += alphabet[random.between(0, alphabet.length - 1)];
  return piece.repeat(length / 16 + 1).slice(0, length);
}

function lengthLine(random: Random, length: number): string {
  const name = random.pick(['Content-Length: ', 'content-length:', 'CONTENT-LENGTH: \t']);
  return `${name}${random.chance(1 / 8) ? '00' : ''}${length}${random.chance(1 / 8) ? ' \t' : ''}`;
}

function chunksOf(random: Random, body: string): string {
  let text = '';
  for (let position = 0; position < body.length; ) {
    const size = Math.min(body.length - position, random.between(1, random.pick([1, 20, 500])));
    const digits = size.toString(16).padStart(random.pick([1, 1, 1, 4, 16]), '0');
    text += `${random.chance(1 / 2) ? digits : digits.toUpperCase()}${random.pick(EXTENSIONS)}\r\n`;
    text += `${body.slice(position, position + size)}\r\n`;
    position += size;
  }
  const trailers = upTo(random, 2, () => `${random.pick(TRAILERS)}\r\n`);
  return `${text}${random.pick(['0', '0', '0000'])}${random.pick(EXTENSIONS)}\r\n${trailers}\r\n`;
}

function interimResponse(random: Random): string {
  const line = random.pick(['', '', 'Link: </a>\r\n', 'X-A: 1\r\n', 'Content-Length: 0\r\n', 'Connection: close\r\n']);
  return `HTTP/1.1 ${random.pick(['100 Continue', '103 Early Hints', '102', '199 x'])}\r\n${line}\r\n`;
}

const ODD_BYTES = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  '\x01',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  ' ',
  '\t',
  '\v',
  ':',
  ';',
  ',',
  '"',
  '0',
  '1',
  '9',
  'a',
  'F',
  '-',
  '+',
  'x',
  '=',
];
const ODD_LINES = [
  'Content-Length: 0',
  'Content-Length: 1',
  'Content-Length: 5, 5',
  'Content-Length: +5',
  'Content-Length: 0x5',
  'Content-Length: 5 5',
  'Content-Length: 1e1',
  'Content-Length:',
  'Content-Length: -1',
  'Content-Length: 9007199254740993',
  'Content-Length: 18446744073709551617',
  'Content-Length : 5',
  'Content_Length: 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding:',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: \x0bchunked',
  ' folded: 5',
  '\tchunked',
  ': no name',
  'no colon',
  'X Y: 1',
  'X-A: \x00',
  'X-A: \r',
  'HTTP/1.1 200 OK',
  '0',
  '',
];
const ODD_SIZES = [
  '',
  '0',
  '00',
  '5',
  '-1',
  '+1',
  '0x5',
  ' 5',
  '5 5',
  '5 x',
  '5;\n',
  'g',
  '5g',
  '1e1',
  '7fffffff',
  '80000000',
  'ffffffffffffffff',
  '10000000000000001',
  '5\xa0',
  '5,',
  '5\n',
  '5\r',
];

/** One change somewhere, such as a bug, a bad line or an attacker would make. */
function mutate(random: Random, text: string): string {
  const at = random.between(0, text.length);
  const replaced = (start: number, end: number, by: string) => text.slice(0, start) + by + text.slice(end);
  switch (random.between(0, 11)) {
    case 0: {
      const flipped = (text.charCodeAt(at) || 0) ^ (1 << random.between(0, 7));
      return replaced(at, at + 1, String.fromCharCode(flipped));
    }
    case 1:
      return replaced(at, at, random.pick(ODD_BYTES));
    case 2:
      return replaced(at, at + 1, random.pick(ODD_BYTES));
    case 3:
      return replaced(at, at + random.between(1, 3), '');
    case 4:
      return replaced(at, at, text.slice(at, at + random.between(1, 20)));
    case 5:
      return text.slice(0, at);
    case 6: {
      const [start, end] = lineAt(text, at);
      return replaced(start, start, text.slice(start, end));
    }
    case 7: {
      const [start, end] = lineAt(text, at);
      return replaced(start, end, '');
    }
    case 8: {
      const [start, end] = lineAt(text, at);
      return replaced(
        Math.max(start, end - 2),
        end,
        random.pick(['\n', '\r', '\n\r', '\r\r\n', '\r\n ', ' \r\n', '\r\n\r\n', '\r\n\t']),
      );
    }
    case 9: {
      // A line of the head, most often: bodies hold fewer lines.
      const [start] = lineAt(text, random.between(0, Math.min(text.length, 200)));
      return replaced(start, start, `${random.pick(ODD_LINES)}\r\n`);
    }
    case 10: {
      const sizes = [...text.matchAll(/\r\n[0-9a-fA-F]+(?=[;\r\t ])/g)];
      if (sizes.length === 0) return replaced(at, at, random.pick(ODD_BYTES));
      const size = random.pick(sizes);
      return replaced(size.index + 2, size.index + size[0].length, random.pick(ODD_SIZES));
    }
    default: {
      const digits = [...text.matchAll(/[0-9]+/g)];
      if (digits.length === 0) return replaced(at, at, random.pick(ODD_BYTES));
      const number = random.pick(digits);
      return replaced(
        number.index,
        number.index + number[0].length,
        random.pick(['0', '1', '5', '99', '100', '101', '200', '204', '304', '00', '']),
      );
    }
  }
}

/** Where the line around a position begins and ends, its CRLF included. */
function lineAt(text: string, at: number): [start: number, end: number] {
  const start = at === 0 ? 0 : text.lastIndexOf('\r\n', at - 1) + (text.lastIndexOf('\r\n', at - 1) === -1 ? 1 : 2);
  const end = text.indexOf('\r\n', start);
  return [start, end === -1 ? text.length : end + 2];
}
