import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepts, parseResponse, refuses } from '../../helpers/parse-response.ts';

const EVERY_LATIN1_BYTE = Array.from({ length: 128 }, (_, index) => String.fromCharCode(128 + index)).join('');

/** A response without a body whose head holds these lines beside its Content-Length. */
function headOf(lines: readonly string[], statusLine = 'HTTP/1.1 200 OK'): string {
  return `${[statusLine, ...lines, 'Content-Length: 0'].join('\r\n')}\r\n\r\n`;
}

accepts(
  'keeps three Set-Cookie lines apart, in order, byte for byte',
  headOf(['Set-Cookie: a=1', 'Set-Cookie: b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT', 'Set-Cookie: a=3']),
  {
    fields: 'Set-Cookie: a=1\r\nSet-Cookie: b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT\r\nSet-Cookie: a=3',
  },
);
accepts(
  'keeps names, their case and the blanks around values',
  headOf(['x-lower:1', 'X-UPPER:   2  ', 'X-Tab:\ta\tb\t']),
  {
    fields: 'x-lower:1\r\nX-UPPER:   2  \r\nX-Tab:\ta\tb\t',
  },
);
accepts('keeps empty and blank values', headOf(['X-Empty:', 'X-Blank:    ']), {
  fields: 'X-Empty:\r\nX-Blank:    ',
});
accepts('takes every char of a token in a name', headOf(["!#$%&'*+-.^_`|~019azAZ: v"]), {
  fields: "!#$%&'*+-.^_`|~019azAZ: v",
});
accepts(
  'keeps every visible ASCII byte in a value',
  headOf([`X-A: ${String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i))}`]),
  {
    fields: `X-A: ${String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i))}`,
    isAscii: true,
  },
);
accepts('keeps every byte above 0x7F in a value, and says that they are there', headOf([`X-A: ${EVERY_LATIN1_BYTE}`]), {
  fields: `X-A: ${EVERY_LATIN1_BYTE}`,
  isAscii: false,
});
accepts('takes a head without any field', 'HTTP/1.1 204 No Content\r\n\r\n', {
  status: 204,
  fields: '',
  isAscii: true,
});

accepts('keeps a status and a reason that nobody knows', headOf([], 'HTTP/1.1 299 Weird reason'), {
  status: 299,
  statusLine: '299 Weird reason',
});
accepts('takes a status line without a reason', headOf([], 'HTTP/1.1 200'), { status: 200, statusLine: '200 ' });
accepts('takes a status line with an empty reason', headOf([], 'HTTP/1.1 404 '), { status: 404, statusLine: '404 ' });
accepts('keeps bytes above 0x7F in the reason', headOf([], 'HTTP/1.1 200 S\xfc\xdf'), { statusLine: '200 S\xfc\xdf' });
accepts('keeps blanks and tabs in the reason', headOf([], 'HTTP/1.1 200  a\tb '), { statusLine: '200  a\tb ' });
accepts('takes the highest status of three digits', headOf([], 'HTTP/1.1 999 Odd'), { status: 999 });
for (const status of [200, 201, 205, 206, 301, 400, 404, 426, 500, 599, 600]) {
  accepts(`takes the status ${status}`, headOf([], `HTTP/1.1 ${status} X`), { status, statusLine: `${status} X` });
}

const REFUSED_STATUS_LINES: Record<string, string> = {
  'a status below 100': 'HTTP/1.1 099 Low',
  'the status 000': 'HTTP/1.1 000 Zero',
  'a status with a letter': 'HTTP/1.1 20x OK',
  'a status of two digits': 'HTTP/1.1 20 OK',
  'a status of four digits': 'HTTP/1.1 2000 OK',
  'a signed status': 'HTTP/1.1 -20 OK',
  'no status': 'HTTP/1.1 OK',
  'a status line of the version alone': 'HTTP/1.1',
  'a version and a blank': 'HTTP/1.1 ',
  'a reason glued to the status': 'HTTP/1.1 200OK',
  'two blanks before the status': 'HTTP/1.1  200 OK',
  'a tab before the status': 'HTTP/1.1\t200 OK',
  'a tab behind the status': 'HTTP/1.1 200\tOK',
  'NUL in the reason': 'HTTP/1.1 200 O\0K',
  'a control byte in the reason': 'HTTP/1.1 200 O\x01K',
  'DEL in the reason': 'HTTP/1.1 200 O\x7fK',
  'a bare CR in the reason': 'HTTP/1.1 200 O\rK',
  'a bare LF in the reason': 'HTTP/1.1 200 O\nK',
  'the version 1.2': 'HTTP/1.2 200 OK',
  'the version 1.10': 'HTTP/1.10 200 OK',
  'the version 2': 'HTTP/2 200 OK',
  'the version 0.9': 'HTTP/0.9 200 OK',
  'the protocol in lower case': 'http/1.1 200 OK',
  'a blank before the protocol': ' HTTP/1.1 200 OK',
  'another protocol': 'ICY 200 OK',
  'a banner of SSH': 'SSH-2.0-OpenSSH_9.2p1',
  'an alert of TLS': '\x15\x03\x03\x00\x02\x02\x46',
};
for (const [what, line] of Object.entries(REFUSED_STATUS_LINES)) {
  refuses(`refuses ${what}`, headOf([], line), /status line|HTTP\/1\./);
}
refuses('refuses a blank line before the status line', `\r\n${headOf([])}`, /status line/);
refuses('refuses a body without a head', 'hello world, this is HTTP/0.9\r\n\r\n', /status line/);

const REFUSED_LINES: Record<string, string> = {
  'an empty name': ': x',
  'a line without a colon': 'X-No-Colon',
  'a blank before the colon': 'X-A : 1',
  'a tab before the colon': 'X-A\t: 1',
  'a blank in a name': 'X A: 1',
  'a folded line': 'X-A: 1\r\n folded',
  'a line folded by a tab': 'X-A: 1\r\n\tfolded',
  'a first line that begins with a blank': ' X-A: 1',
  'a name outside of ASCII': 'X-\xe4: 1',
  'a parenthesis in a name': 'X(A): 1',
  'a slash in a name': 'X/A: 1',
  'NUL in a name': 'X\0A: 1',
  'NUL in a value': 'X-A: 1\x002',
  '0x01 in a value': 'X-A: \x01',
  'ESC in a value': 'X-A: \x1b[31m',
  'a vertical tab in a value': 'X-A: 1\x0b2',
  'a form feed in a value': 'X-A: 1\x0c2',
  'DEL in a value': 'X-A: \x7f',
  'a bare CR in a value': 'X-A: 1\r2',
  'two CR before the LF': 'X-A: 1\r',
  'a bare LF that ends a line': 'X-A: 1\nX-B: 2',
  'a bare LF and a control byte behind bytes above 0x7F': 'X-A: \xe4\x01',
};
for (const [what, line] of Object.entries(REFUSED_LINES)) {
  refuses(`refuses ${what}`, headOf([line]), /header line/);
}
refuses('refuses a head whose lines end in bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', /ends without CR/);
refuses(
  'refuses a head that ends in CRLF and bare LF',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n',
  /ends without CR/,
);

accepts(
  'leaves out the fields of the connection, framing, and Date',
  headOf([
    'Connection: keep-alive',
    'X-First: 1',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'TE: trailers',
    'Trailer: X-T',
    'Upgrade: h2c',
    'X-Middle: 2',
    'DATE: Tue, 15 Nov 1994 08:12:31 GMT',
    'Proxy-Authenticate: Basic',
    'Proxy-Authentication-Info: x',
    'X-Last: 3',
  ]),
  { fields: 'X-First: 1\r\nX-Middle: 2\r\nX-Last: 3' },
);
accepts(
  'keeps fields whose names are as long as those that are left out',
  headOf([
    'xe: 1',
    'Link: 2',
    'Expires: 3',
    'X-ConnectX: 4',
    'Cache-Control-X: 5',
    'Last-Modified: 6',
    'Accept-Ranges: 7',
    'X-Transfer-Enco12: 8',
    'X-Frame-Options-18: 9',
  ]),
  {
    fields:
      'xe: 1\r\nLink: 2\r\nExpires: 3\r\nX-ConnectX: 4\r\nCache-Control-X: 5\r\nLast-Modified: 6\r\nAccept-Ranges: 7\r\nX-Transfer-Enco12: 8\r\nX-Frame-Options-18: 9',
  },
);
accepts(
  'leaves out what Connection names, in any case and on any side of it',
  headOf(['X-Hop: 1', 'Connection: x-HOP, keep-alive,X-Other', 'x-other: 2', 'X-Hop-Not: 3', 'X-Hop: 4']),
  {
    fields: 'X-Hop-Not: 3',
  },
);
accepts(
  'leaves out what a second Connection line names, behind an empty one',
  headOf(['Connection:', 'Connection: ,,X-Hop ,\t', 'X-Hop: 1', 'X-Stays: 2']),
  {
    fields: 'X-Stays: 2',
  },
);
accepts(
  'obeys the framing that Connection names',
  'HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 2\r\n\r\nok',
  {
    contentLength: 2,
    body: 'ok',
  },
);
accepts('leaves out an Upgrade, also when Connection does not name it', headOf(['Upgrade: h2,h2c', 'X-A: 1']), {
  fields: 'X-A: 1',
});
accepts(
  'keeps the Upgrade of a 426, and adds the Connection that belongs to it',
  headOf(['Upgrade: websocket', 'Connection: Upgrade, X-Hop', 'X-Hop: 1', 'X-A: 1'], 'HTTP/1.1 426 Upgrade Required'),
  {
    fields: 'Upgrade: websocket\r\nX-A: 1\r\nConnection: upgrade',
  },
);
accepts(
  'adds nothing to a 426 without an Upgrade',
  headOf(['Connection: upgrade', 'X-A: 1'], 'HTTP/1.1 426 Upgrade Required'),
  {
    fields: 'X-A: 1',
  },
);

accepts('an HTTP/1.1 response keeps the connection', headOf([]), { keepAlive: true });
accepts('Connection: close ends it', headOf(['Connection: close']), { keepAlive: false });
accepts('close ends it in any case, among other options', headOf(['Connection: X-Hop , CLOSE']), { keepAlive: false });
accepts('close ends it on a second line', headOf(['Connection: keep-alive', 'Connection: close']), {
  keepAlive: false,
});
accepts('an option that only begins with close does not', headOf(['Connection: closed, x-close']), { keepAlive: true });
accepts('an HTTP/1.0 response ends the connection', headOf([], 'HTTP/1.0 200 OK'), { keepAlive: false });
accepts('keep-alive keeps it in HTTP/1.0', headOf(['Connection: Keep-Alive'], 'HTTP/1.0 200 OK'), { keepAlive: true });
accepts(
  'close goes before keep-alive in HTTP/1.0, whichever comes first',
  headOf(['Connection: close, keep-alive'], 'HTTP/1.0 200 OK'),
  {
    keepAlive: false,
  },
);
accepts('a byte 0xA0 is no blank: it makes another option', headOf(['Connection: close\xa0']), { keepAlive: true });

for (const [value, seconds] of [
  ['timeout=5', 5],
  ['timeout=5, max=100', 5],
  ['max=100, timeout=65', 65],
  ['TIMEOUT=3', 3],
  ['timeout=0', 0],
  ['max=5', -1],
  ['timeout=', -1],
  ['xtimeout=5', -1],
  ['', -1],
] as const) {
  accepts(`reads Keep-Alive: ${value || '(empty)'} as ${seconds}`, headOf([`Keep-Alive: ${value}`]), {
    keepAliveTimeout: seconds,
  });
}

for (const [lines, isEventStream] of [
  [['Content-Type: text/event-stream'], true],
  [['Content-Type: text/event-stream; charset=utf-8'], true],
  [['content-type:Text/Event-Stream;charset=utf-8'], true],
  [['Content-Type: text/event-stream', 'Content-Encoding: gzip'], false],
  [['Content-Encoding: gzip', 'Content-Type: text/event-stream'], false],
  [['Content-Type: text/event-streams'], false],
  [['Content-Type: text/html'], false],
  [['Content-Type: x, text/event-stream'], false],
  [['Content-Type: text/event-stream', 'Connection: content-type'], false],
] as const) {
  accepts(`${lines.join(' and ')} ${isEventStream ? 'is' : 'is not'} an event stream`, headOf(lines), {
    isEventStream,
  });
}

accepts('sees a Strict-Transport-Security of the app', headOf(['strict-transport-security: max-age=1']), {
  hasStrictTransportSecurity: true,
});
accepts(
  'sees no Strict-Transport-Security where Connection names it away',
  headOf(['Strict-Transport-Security: max-age=1', 'Connection: Strict-Transport-Security']),
  {
    hasStrictTransportSecurity: false,
    fields: '',
  },
);
test('tells nothing of one response in the next', () => {
  // One head object per connection is filled again and again.
  const first = headOf([
    'Keep-Alive: timeout=5',
    'Content-Type: text/event-stream',
    'Strict-Transport-Security: x',
    'X-A: \xe4',
    'Connection: close',
  ]);
  const bytes = `HTTP/1.1 103 Early Hints\r\n${first.slice('HTTP/1.1 200 OK\r\n'.length)}${headOf(['X-B: 1'])}`;
  assert.deepEqual(parseResponse(bytes), { ...parseResponse(headOf(['X-B: 1'])), consumed: bytes.length });
});
