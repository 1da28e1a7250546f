import { chunkedResponse as chunked, refuses } from '../../helpers/parse-response.ts';

// What two readers could understand in two ways: where the body ends, and so where the next response begins.

const HEAD = { isHeadRequest: true };
const OK = 'HTTP/1.1 200 OK\r\n';

const BAD_LENGTHS = ['', ' ', 'foo', '-1', '+5', '5.0', '0x5', '5e0', '5 5', '5, 5', '5,5', '5;', '"5"', '1_0', '5a'];
for (const value of [...BAD_LENGTHS, '\xa05', '5\xa0', '\xb2', '12345678901234567890', '00000000000000005']) {
  refuses(`refuses the Content-Length "${value}"`, `${OK}Content-Length: ${value}\r\n\r\n`, /Content-Length is not/);
}
refuses('refuses a Content-Length of 2^53', `${OK}Content-Length: 9007199254740992\r\n\r\n`, /too large/);
refuses(
  'refuses two equal Content-Length',
  `${OK}Content-Length: 5\r\ncontent-length: 5\r\n\r\nfive5`,
  /more than one/,
);
refuses('refuses two different Content-Length', `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`, /more than one/);

const BAD_CHUNKS: Record<string, [body: string, reason: RegExp]> = {
  'a size that is no number': ['zz\r\n', /hexadecimal/],
  'a size that begins as a number': ['5g\r\nfive5\r\n0\r\n\r\n', /hexadecimal/],
  'an empty size': ['\r\n', /hexadecimal/],
  'an extension without a size': [';x\r\n', /hexadecimal/],
  'a negative size': ['-1\r\n', /hexadecimal/],
  'a size with a plus sign': ['+1\r\na\r\n', /hexadecimal/],
  'a size with 0x': ['0x5\r\nfive5\r\n', /hexadecimal/],
  'a blank before the size': [' 1\r\na\r\n', /hexadecimal/],
  'two numbers in a size line': ['1 1\r\na\r\n', /hexadecimal/],
  'a quoted size': ['"1"\r\na\r\n', /hexadecimal/],
  'a size with an underscore': ['1_0\r\n', /hexadecimal/],
  'a size of 17 digits': ['00000000000000001\r\na\r\n', /too large/],
  'a size of 2^53': ['20000000000000\r\n', /too large/],
  'a size of 2^64 and one': ['10000000000000001\r\n', /too large/],
  'a bare LF behind the size': ['1\na\r\n0\r\n\r\n', /hexadecimal/],
  'a bare CR behind the size': ['1\rXa\r\n0\r\n\r\n', /CRLF/],
  'two CR behind the size': ['1\r\r\na\r\n', /CRLF/],
  'a bare LF in an extension': ['1;x\na\r\n0\r\n\r\n', /control byte/],
  'a bare CR in an extension': ['1;x\ry\r\na\r\n', /CRLF/],
  'NUL in an extension': ['1;\0\r\na\r\n', /control byte/],
  'DEL in an extension': ['1;\x7f\r\na\r\n', /control byte/],
  'a chunk that is longer than its size': ['1\r\nab\r\n0\r\n\r\n', /longer/],
  'a chunk that is shorter than its size': ['3\r\nab\r\n0\r\n\r\n', /longer|CRLF/],
  'a bare LF behind the data': ['1\r\na\n0\r\n\r\n', /longer/],
  'a bare CR behind the data': ['1\r\na\r0\r\n\r\n', /CRLF/],
  'no line end behind the data': ['1\r\na0\r\n\r\n', /longer/],
  'a trailer without a colon': ['0\r\nX-T\r\n\r\n', /trailer/],
  'a trailer with an empty name': ['0\r\n: 1\r\n\r\n', /trailer/],
  'a trailer with a blank before the colon': ['0\r\nX-T : 1\r\n\r\n', /trailer/],
  'a folded trailer': ['0\r\nX-T: 1\r\n 2\r\n\r\n', /trailer/],
  'a trailer that ends in bare LF': ['0\r\nX-T: 1\n\r\n', /trailer/],
  'trailers that end in bare LF': ['0\r\n\n', /trailer/],
  'a bare CR in a trailer': ['0\r\nX-T: 1\r2\r\n\r\n', /trailer/],
  'NUL in a trailer': ['0\r\nX-T: \0\r\n\r\n', /trailer/],
  'a response where trailers should be': [`0\r\n${OK}\r\n`, /trailer/],
};
for (const [what, [body, reason]] of Object.entries(BAD_CHUNKS)) refuses(`refuses ${what}`, chunked(body), reason);

const CODINGS = [
  'gzip',
  'identity',
  'gzip, chunked',
  'chunked, gzip',
  'chunked, chunked',
  'chunked,',
  ',chunked',
  'xchunked',
  'chunkedx',
  'chunked;q=1',
  '"chunked"',
  '',
  'chunked\xa0',
  'c hunked',
];
for (const coding of CODINGS) {
  refuses(
    `refuses the Transfer-Encoding "${coding}"`,
    `${OK}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
    /not "chunked"/,
  );
}
refuses(
  'refuses two Transfer-Encoding',
  `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
  /more than one/,
);
refuses('refuses Transfer-Encoding beside Content-Length', chunked('0\r\n\r\n', 'Content-Length: 5\r\n'), /both/);
refuses(
  'refuses Content-Length before Transfer-Encoding',
  `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
  /both/,
);
refuses('refuses both in an answer to HEAD, too', chunked('', 'Content-Length: 5\r\n'), /both/, HEAD);
refuses('refuses Transfer-Encoding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', /HTTP\/1.0/);
