import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseParser, type ResponseSink } from '../../../src/upstream/response-parser.ts';
import { accepts, chunkedResponse as chunked, cuts, parseResponse, refuses } from '../../helpers/parse-response.ts';

const IGNORED: ResponseSink = { onHead() {}, onBody() {}, onEnd() {} };
const HEAD = { isHeadRequest: true };
const OK = 'HTTP/1.1 200 OK\r\n';

// Known length

accepts('reads a body of length 0', `${OK}Content-Length: 0\r\n\r\n`, { body: '', contentLength: 0, consumed: 38 });
accepts('reads a body of known length, whatever bytes it holds', `${OK}Content-Length: 7\r\n\r\n\r\n\r\n\0\xff\n`, {
  body: '\r\n\r\n\0\xff\n',
  contentLength: 7,
  keepAlive: true,
  isEndedByClose: false,
});
accepts('reads a length with leading zeros and blanks around it', `${OK}Content-Length: \t 0005 \t\r\n\r\nfive5`, {
  contentLength: 5,
  body: 'five5',
});
accepts('leaves bytes behind a known length unread', `${OK}Content-Length: 5\r\n\r\nfive5HTTP`, {
  body: 'five5',
  consumed: 43,
});
accepts(
  'leaves a second response glued to the first unread',
  `${OK}Content-Length: 0\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
  {
    consumed: 38,
  },
);
for (const [framing, head, end] of [
  ['length', `${OK}Content-Length: 5000000000\r\n\r\n`, ''],
  ['chunked', chunked('12A05F200\r\n'), '\r\n0\r\n\r\n'],
] as const) {
  test(`counts a body of 5 GB exactly (${framing})`, () => {
    const parser = new ResponseParser();
    let bytes = 0;
    parser.expect(false, {
      ...IGNORED,
      onBody: (chunk) => {
        bytes += chunk.length;
      },
    });
    assert.equal(parser.execute(Buffer.from(head)), head.length);
    const piece = Buffer.alloc(10_000_000);
    for (let count = 0; count < 500; count += 1) {
      assert.equal(parser.isIdle, false);
      assert.equal(parser.execute(piece), piece.length);
    }
    if (end !== '') assert.equal(parser.execute(Buffer.from(`${end}more`)), end.length);
    assert.ok(parser.isIdle && parser.keepAlive);
    assert.equal(bytes, 5_000_000_000);
  });
}
test('takes the largest length that is a safe integer exactly', () => {
  const parser = new ResponseParser();
  let length = 0;
  parser.expect(false, { ...IGNORED, onHead: (head) => (length = head.contentLength) });
  parser.execute(Buffer.from(`${OK}Content-Length: 9007199254740991\r\n\r\nx`));
  assert.equal(length, Number.MAX_SAFE_INTEGER);
  assert.equal(parser.finish(), 'in the middle of the response body');
});

cuts('a known length is cut by a close before the first byte', `${OK}Content-Length: 5\r\n\r\n`, /response body/);
cuts('a known length is cut by a close before the last byte', `${OK}Content-Length: 5\r\n\r\nfour`, /response body/);

// Chunked

accepts(
  'reads chunks in hexadecimal of both cases and with leading zeros',
  chunked('000A\r\n0123456789\r\nb\r\n0123456789a\r\nB\r\n0123456789b\r\n0\r\n\r\n'),
  {
    body: '01234567890123456789a0123456789b',
    isChunked: true,
    contentLength: -1,
    keepAlive: true,
  },
);
accepts('reads an empty chunked body', chunked('0\r\n\r\n'), { body: '' });
accepts('reads a last chunk of several zeros', chunked('1\r\na\r\n000\r\n\r\n'), { body: 'a' });
accepts('reads a size of sixteen digits', chunked('0000000000000001\r\na\r\n0\r\n\r\n'), { body: 'a' });
accepts('reads chunks that look like framing', chunked('7\r\n0\r\n\r\n\r\n\r\n2\r\n\r\n\r\n0\r\n\r\n'), {
  body: '0\r\n\r\n\r\n\r\n',
});
accepts(
  'takes "Chunked" in any case, with blanks around it',
  `${OK}Transfer-Encoding:\t CHUNKED \r\n\r\n1\r\na\r\n0\r\n\r\n`,
  {
    body: 'a',
  },
);
accepts(
  'forgets chunk extensions, also on the last chunk',
  chunked('5;x="a;b"\r\nfive5\r\n1 ; y\r\na\r\n1;\r\nb\r\n0;z=\xe4\t1\r\n\r\n'),
  {
    body: 'five5ab',
  },
);
accepts('takes a size that is filled up with blanks', chunked('1   \r\na\r\n0 \t\r\n\r\n'), { body: 'a' });
accepts(
  'drops trailers, and keeps the connection',
  chunked('1\r\na\r\n0\r\nX-T: 1\r\nContent-Length: 5\r\nX-Empty:\r\n\r\n'),
  {
    body: 'a',
    fields: '',
    keepAlive: true,
  },
);
accepts('leaves bytes behind the last chunk unread', chunked('1\r\na\r\n0\r\n\r\nmore'), { body: 'a', consumed: 58 });
accepts('leaves bytes behind the trailers unread', chunked('0\r\nX-T: 1\r\n\r\n\r\n'), { consumed: 60 });

cuts('a chunked body is cut before its first chunk', chunked(''), /response body/);
cuts('a chunked body is cut in a size', chunked('5'), /response body/);
cuts('a chunked body is cut in the middle of a chunk', chunked('5\r\nfour'), /response body/);
cuts('a chunked body is cut between two chunks', chunked('5\r\nfive5\r\n'), /response body/);
cuts('a chunked body is cut behind its last chunk', chunked('5\r\nfive5\r\n0\r\n'), /response body/);
cuts('a chunked body is cut in its trailers', chunked('0\r\nX-T: 1\r\n'), /response body/);

// Until the connection closes

accepts('reads a body of unknown length until the connection closes', `${OK}X-A: 1\r\n\r\nwhole\r\n\r\nbody`, {
  body: 'whole\r\n\r\nbody',
  isEndedByClose: true,
  keepAlive: false,
  contentLength: -1,
});
accepts('reads an empty body until the connection closes', `${OK}Connection: keep-alive\r\n\r\n`, {
  body: '',
  isEndedByClose: true,
  keepAlive: false,
});
accepts('reads an HTTP/1.0 body until the connection closes', 'HTTP/1.0 200 OK\r\n\r\nold', {
  body: 'old',
  isEndedByClose: true,
  keepAlive: false,
});
accepts(
  'reads an HTTP/1.0 body of known length',
  'HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nold',
  {
    body: 'old',
    isEndedByClose: false,
    keepAlive: true,
  },
);
accepts('reads a 205 without a length until the connection closes', 'HTTP/1.1 205 Reset Content\r\n\r\n', {
  isEndedByClose: true,
});

// Without a body

for (const status of ['204 No Content', '304 Not Modified']) {
  accepts(`a ${status.slice(0, 3)} ends with its head`, `HTTP/1.1 ${status}\r\n\r\nHTTP`, {
    body: '',
    consumed: 17 + status.length - 4,
    keepAlive: true,
  });
  accepts(
    `a chunked ${status.slice(0, 3)} ends with its head, and the connection with it`,
    `HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    {
      body: '',
      keepAlive: false,
    },
  );
}
accepts('a 304 tells the length that a GET would give', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', {
  contentLength: 5,
  body: '',
  keepAlive: true,
});
accepts('a 204 with a length ends the connection', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nfive5', {
  body: '',
  keepAlive: false,
});
accepts('a 204 with a length of 0 keeps the connection', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', {
  keepAlive: true,
});
accepts(
  'an answer to HEAD ends with its head, whatever length it tells',
  `${OK}Content-Length: 1000\r\n\r\n`,
  {
    contentLength: 1000,
    body: '',
    keepAlive: true,
    isEndedByClose: false,
  },
  HEAD,
);
accepts('an answer to HEAD needs no length', `${OK}X-A: 1\r\n\r\n`, { contentLength: -1, keepAlive: true }, HEAD);
accepts('an answer to HEAD may be chunked', chunked(''), { isChunked: true, body: '', keepAlive: true }, HEAD);
accepts(
  'a body behind an answer to HEAD is left unread',
  `${OK}Content-Length: 5\r\n\r\nfive5`,
  { consumed: 38 },
  HEAD,
);

// Interim responses

accepts(
  'drops a 103 and its fields',
  `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
  {
    status: 200,
    fields: '',
    body: 'a',
  },
);
accepts(
  'drops 100 and 102, in HTTP/1.0 too',
  `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 X\r\n\r\nHTTP/1.0 100\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
  {
    status: 200,
  },
);
accepts(
  'takes a length of 0 in an interim response',
  `HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
  {
    status: 200,
  },
);
accepts(
  'drops interim responses before an answer to HEAD',
  `HTTP/1.1 103 Early Hints\r\n\r\n${OK}Content-Length: 9\r\n\r\n`,
  { body: '' },
  HEAD,
);
const interim = (count: number) => `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(count)}${OK}Content-Length: 0\r\n\r\n`;
const fewInterim = { limits: { maxHeadBytes: 1000, maxInterimResponses: 3 } };
accepts('drops as many interim responses as are allowed', interim(3), { status: 200 }, fewInterim);
refuses('refuses more interim responses than are allowed', interim(4), /too many/, fewInterim);
test('drops 32 interim responses, and refuses the 33rd', () => {
  assert.ok('status' in parseResponse(interim(32)));
  assert.deepEqual(parseResponse(interim(33)), { refused: 'it has too many interim responses' });
});
test('counts interim responses for each response anew', () => {
  const parser = new ResponseParser();
  for (let i = 0; i < 3; i += 1) {
    parser.expect(false, IGNORED);
    const bytes = Buffer.from(interim(20));
    assert.equal(parser.execute(bytes), bytes.length);
    assert.ok(parser.isIdle);
  }
});
refuses(
  'refuses a 101, since nobody asked',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  /switches/,
);
refuses(
  'refuses an interim response with a body',
  'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nfive5',
  /announces a body/,
);
refuses(
  'refuses a chunked interim response',
  'HTTP/1.1 103 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  /announces a body/,
);
cuts('a close behind an interim response is one before the head', 'HTTP/1.1 100 Continue\r\n\r\n', /before a whole/);

// The end of the connection

cuts('a close before the first byte is one before the head', '', /before a whole/);
cuts('a close in the status line is one before the head', 'HTTP/1.1 20', /before a whole/);
cuts('a close before the blank line is one before the head', `${OK}Content-Length: 0\r\n`, /before a whole/);
test('a reset ends no response, whatever its framing', () => {
  for (const bytes of [`${OK}\r\nnot all`, `${OK}Content-Length: 5\r\n\r\nfour`, chunked('1\r\na\r\n'), 'HTTP']) {
    const parser = new ResponseParser();
    parser.expect(false, { ...IGNORED, onEnd: () => assert.fail('it ended') });
    parser.execute(Buffer.from(bytes));
    assert.equal(typeof parser.finish(true), 'string');
  }
});
test('a close between two responses is a right end', () => {
  const parser = new ResponseParser();
  assert.equal(parser.finish(), undefined);
  parser.expect(false, IGNORED);
  parser.execute(Buffer.from(`${OK}Content-Length: 0\r\n\r\n`));
  assert.equal(parser.finish(), undefined);
});

// One parser, many responses

test('reads one response after the other', () => {
  const parser = new ResponseParser();
  const bodies: string[] = [];
  for (const bytes of [
    `${OK}Content-Length: 1\r\n\r\na`,
    chunked('1\r\nb\r\n0\r\nX-T: 1\r\n\r\n'),
    `${OK}Content-Length: 1\r\n\r\nc`,
  ]) {
    parser.expect(false, { ...IGNORED, onBody: (chunk) => bodies.push(chunk.toString()) });
    assert.equal(parser.execute(Buffer.from(bytes)), bytes.length);
    assert.ok(parser.isIdle && parser.keepAlive);
  }
  assert.deepEqual(bodies, ['a', 'b', 'c']);
});
test('reads nothing more once a response was refused', () => {
  const parser = new ResponseParser();
  parser.expect(false, IGNORED);
  assert.equal(typeof parser.execute(Buffer.from('garbage\r\n\r\n')), 'string');
  assert.equal(typeof parser.execute(Buffer.from(`${OK}Content-Length: 0\r\n\r\n`)), 'string');
  assert.equal(parser.keepAlive, false);
});
test('reads nothing while no response is expected', () => {
  assert.equal(new ResponseParser().execute(Buffer.from(OK)), 0);
});

for (const [where, bytes] of [
  ['onHead', `${OK}Content-Length: 5\r\n\r\nfive5`],
  ['onHead', `${OK}Content-Length: 0\r\n\r\n`],
  ['onHead', `${OK}\r\nbody`],
  ['onHead', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['onHead', chunked('1\r\na\r\n0\r\n\r\n')],
  ['onBody', `${OK}Content-Length: 5\r\n\r\nfive5`],
  ['onBody', `${OK}\r\nbody`],
  ['onBody', chunked('1\r\na\r\n1\r\nb\r\n0\r\n\r\n')],
  ['onEnd', chunked('1\r\na\r\n0\r\n\r\n')],
] as const) {
  test(`tells nothing more when it is stopped in ${where} of ${JSON.stringify(bytes.slice(0, 40))}`, () => {
    const parser = new ResponseParser();
    const told: string[] = [];
    const tell = (name: string) => () => {
      told.push(name);
      if (name === where) parser.stop();
    };
    parser.expect(false, { onHead: tell('onHead'), onBody: tell('onBody'), onEnd: tell('onEnd') });
    parser.execute(Buffer.from(bytes));
    parser.finish();
    assert.equal(told.at(-1), where);
    assert.equal(told.filter((name) => name === where).length, 1);
  });
}
