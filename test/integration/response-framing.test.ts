import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOnce, assertErrorAnswer, GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawResponse } from '../helpers/raw-socket.ts';
import { eachRequest, respond, respondChunked, type ScriptedConnection } from '../helpers/scripted-app.ts';

const HEAD = 'HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

const answer204 = eachRequest(() => NO_CONTENT);

interface Asked {
  readonly response: RawResponse;
  /** Whether the app got the second request on the connection of the first. */
  readonly isReused: boolean;
}

/** What the app does with its first request: bytes to send, or a function that sends them. */
type Answer = string | ((connection: ScriptedConnection) => Promise<void>);

/**
 * Asks twice over one client connection: first what is tested, then something plain, which only comes out right when
 * the first answer was framed exactly.
 */
async function askTwice(run: ProxiedCase, answer: Answer, request = GET): Promise<Asked> {
  await run.script(async (connection, index) => {
    if (index === 0) {
      await connection.readRequest();
      if (typeof answer === 'string') connection.send(answer);
      else await answer(connection);
    }
    await answer204(connection, index);
  });
  const client = await run.send(request);
  const response = await client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
  client.send(GET);
  const second = await client.readResponse();
  assert.equal(second.status, 204);
  assert.equal(client.unread.length, 0);
  return { response, isReused: run.app.accepted.length === 1 };
}

/**
 * Sends a request that the app begins to answer, up to the word `sent`. When that is with the client, so that the head
 * does not wait any more, the app does what makes the answer impossible; gives what the client got until it was cut.
 */
async function askCut(run: ProxiedCase, answer: string, then: (connection: ScriptedConnection) => void) {
  await run.script(answerOnce(answer));
  const client = await run.send();
  const begin = await client.readUntil('sent');
  then(run.app.accepted[0]!);
  const received = begin + (await client.readToEnd()).toString('latin1');
  const end = received.indexOf('\r\n\r\n');
  return { head: received.slice(0, end), body: received.slice(end + 4) };
}

const bytesOf = (count: number) => Buffer.alloc(count, 'abcdefghij');

test('the framing of a response', async (t) => {
  const proxied = await startProxiedApp(t);

  for (const body of ['', 'x', 'five5', 'y'.repeat(16 * 1024), 'z'.repeat(16 * 1024 + 1), 'w'.repeat(3_000_000)]) {
    await proxied.test(`keeps a Content-Length of ${body.length}`, async (run) => {
      const { response, isReused } = await askTwice(run, respond(body));
      assert.equal(response.framing, 'length');
      assert.equal(response.headers.get('content-length'), `${body.length}`);
      assert.equal(response.body.toString('latin1'), body);
      assert.ok(isReused);
    });
  }

  await proxied.test('keeps the Content-Length of a body that comes byte by byte', async (run) => {
    const { response } = await askTwice(run, async (connection) => {
      for (const char of respond('thirteen byte')) await connection.sendAndFlush(char);
    });
    assert.equal(response.headers.get('content-length'), '13');
    assert.equal(response.body.toString(), 'thirteen byte');
  });

  await proxied.test('sends on what came of a body before the rest is there', async (run) => {
    await run.script(answerOnce(`${OK}Content-Length: 6\r\n\r\nabc`));
    const client = await run.send();
    assert.match(await client.readUntil('abc'), /\r\nContent-Length: 6\r\n/);
    run.app.accepted[0]!.send('def');
    assert.equal(await client.readUntil('def'), 'def');
  });

  const chunkedForms: readonly [string, string, string][] = [
    ['one-byte chunks', respondChunked([...'abcdef']), 'abcdef'],
    ['extensions', `${CHUNKED}5;x="a;b"\r\nabcde\r\n1 ; y\r\nf\r\n0;z=1\r\n\r\n`, 'abcdef'],
    ['sizes in lower case', `${CHUNKED}a\r\n0123456789\r\n0\r\n\r\n`, '0123456789'],
    ['sizes in upper case', `${CHUNKED}A\r\n0123456789\r\n0\r\n\r\n`, '0123456789'],
    ['leading zeros', `${CHUNKED}0005\r\nabcde\r\n000\r\n\r\n`, 'abcde'],
    ['a coding in capitals', `${OK}transfer-encoding:CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 'abc'],
    [
      'a body that looks like chunks',
      respondChunked(['0\r\n\r\n', 'HTTP/1.1 200 OK\r\n']),
      '0\r\n\r\nHTTP/1.1 200 OK\r\n',
    ],
    ['one large chunk', respondChunked(['l'.repeat(1024 * 1024)]), 'l'.repeat(1024 * 1024)],
    ['chunks that do not fit reads', respondChunked(Array(40).fill('m'.repeat(9973))), 'm'.repeat(9973 * 40)],
  ];
  for (const [what, answer, body] of chunkedForms) {
    await proxied.test(`reads a chunked body with ${what}, and frames it anew`, async (run) => {
      const { response, isReused } = await askTwice(run, answer);
      assert.equal(response.framing, 'chunked');
      assert.ok(response.body.equals(Buffer.from(body, 'latin1')), 'the body');
      assert.ok(isReused);
    });
  }

  await proxied.test('gives an empty chunked body a length, since it is known', async (run) => {
    const { response, isReused } = await askTwice(run, respondChunked([]));
    assert.equal(response.headers.get('content-length'), '0');
    assert.ok(isReused);
  });

  await proxied.test('reads a chunked response that is split at each byte', async (run) => {
    const answer = respondChunked(['abc', 'd'], { head: ['X-A: 1'] });
    await run.script(
      eachRequest(async (request, connection) => {
        const at = Number(request.target.slice(1));
        await connection.sendAndFlush(answer.slice(0, at));
        return answer.slice(at);
      }),
    );
    const client = await run.connect();
    for (let at = 1; at < answer.length; at += 1) {
      client.send(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await client.readResponse()).body.toString(), 'abcd', `split at ${at}`);
    }
    assert.equal(run.app.accepted.length, 1);
  });

  await proxied.test('drops trailers, shows none as a header, and goes on with the connection', async (run) => {
    const head = `${OK}Trailer: X-T, X-U\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const { response, isReused } = await askTwice(run, `${head}3\r\nabc\r\n0\r\nX-T: 1\r\nX-U:\r\n\r\n`);
    assert.equal(response.body.toString(), 'abc');
    assert.deepEqual(response.headers.names().sort(), ['Date', 'Transfer-Encoding', 'X-Request-Id']);
    assert.deepEqual(response.trailers.list, []);
    assert.ok(isReused);
  });

  await proxied.test('ends a body that the app ends by closing, and uses that connection no more', async (run) => {
    const { response, isReused } = await askTwice(run, async (connection) => connection.end(`${OK}\r\nto the end`));
    assert.equal(response.framing, 'chunked');
    assert.equal(response.body.toString(), 'to the end');
    assert.ok(!isReused);
  });

  await proxied.test('ends an empty body that the app ends by closing', async (run) => {
    const { response } = await askTwice(run, async (connection) => connection.end(`${OK}X-A: 1\r\n\r\n`));
    assert.equal(response.body.length, 0);
    assert.equal(response.headers.get('x-a'), '1');
  });

  await proxied.test('takes head and body in one segment, and leaves nothing for the next answer', async (run) => {
    const smuggled = respond('smuggled', { status: '299 Smuggled' });
    const { response, isReused } = await askTwice(run, `${respond('five5')}${smuggled}`);
    assert.equal(response.body.toString(), 'five5');
    assert.ok(!isReused, 'a connection with bytes left over was used again');
  });

  const withBytesBehind: readonly [string, string, string][] = [
    ['a Content-Length', GET, `${OK}Content-Length: 5\r\n\r\nabcde`],
    ['a Content-Length of 0', GET, `${OK}Content-Length: 0\r\n\r\n`],
    ['chunks', GET, respondChunked(['abcde'])],
    ['a 204', GET, 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['a 304', GET, 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n'],
    ['an answer to HEAD', HEAD, `${OK}Content-Length: 4\r\n\r\n`],
  ];
  for (const [what, request, answer] of withBytesBehind) {
    await proxied.test(`hands on nothing that comes behind ${what}, and drops the connection`, async (run) => {
      const { response, isReused } = await askTwice(run, `${answer}more`, request);
      assert.ok(!response.body.includes('more'));
      assert.ok(!isReused);
    });
  }

  await proxied.test('answers HEAD with the length that a GET would have, once, and no body', async (run) => {
    const { response, isReused } = await askTwice(run, `${OK}Content-Length: 1000\r\n\r\n`, HEAD);
    assert.equal(response.headers.get('content-length'), '1000');
    assert.ok(isReused);
  });

  await proxied.test('answers HEAD without a length when the app gives none', async (run) => {
    const { response } = await askTwice(run, `${OK}X-A: 1\r\n\r\n`, HEAD);
    assert.deepEqual(response.headers.names().sort(), ['Date', 'X-A', 'X-Request-Id']);
  });

  await proxied.test('answers HEAD without a body when the app answers with chunks', async (run) => {
    const withoutBody = await askTwice(run, CHUNKED, HEAD);
    assert.equal(withoutBody.response.headers.get('content-length'), undefined);
    const { response, isReused } = await askTwice(run, respondChunked(['abc']), HEAD);
    assert.equal(response.headers.get('content-length'), undefined);
    assert.ok(!isReused);
  });

  for (const status of ['404 Not Found', '301 Moved Permanently', '500 Internal Server Error']) {
    await proxied.test(`answers HEAD with ${status} and its length`, async (run) => {
      const { response } = await askTwice(run, `HTTP/1.1 ${status}\r\nContent-Length: 7\r\n\r\n`, HEAD);
      assert.equal(response.statusLine, `HTTP/1.1 ${status}`);
      assert.equal(response.headers.get('content-length'), '7');
    });
  }

  await proxied.test('hands on a 304 with and without a length, and never a body', async (run) => {
    const head = 'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n';
    const without = await askTwice(run, `${head}\r\n`);
    assert.deepEqual(without.response.headers.names().sort(), ['Date', 'ETag', 'X-Request-Id']);
    const withLength = await askTwice(run, `${head}Content-Length: 500\r\n\r\n`);
    assert.equal(withLength.response.headers.get('content-length'), '500');
    assert.ok(without.isReused && withLength.isReused);
  });

  await proxied.test('hands on a 204 clean, whatever the app says of a body', async (run) => {
    const clean = await askTwice(run, NO_CONTENT);
    const zero = await askTwice(run, 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n');
    const chunked = await askTwice(run, 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
    const body = await askTwice(run, 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nabcde');
    for (const { response } of [clean, zero, chunked, body]) {
      assert.deepEqual(response.headers.names().sort(), ['Date', 'X-Request-Id']);
    }
    assert.deepEqual(
      [clean, zero, chunked, body].map(({ isReused }) => isReused),
      [true, true, false, false],
    );
  });

  await proxied.test('hands on a 205, empty and with a body', async (run) => {
    const empty = await askTwice(run, 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n');
    assert.equal(empty.response.status, 205);
    assert.equal(empty.response.body.length, 0);
    const body = await askTwice(run, 'HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nabcde');
    assert.equal(body.response.body.toString(), 'abcde');
    const chunked = await askTwice(run, 'HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
    assert.equal(chunked.response.body.length, 0);
  });

  await proxied.test('hands on a 206 and its range untouched', async (run) => {
    const head = ['Content-Range: bytes 2-4/10', 'Accept-Ranges: bytes', 'ETag: "v1"'];
    const { response } = await askTwice(run, respond('cde', { status: '206 Partial Content', head }));
    assert.equal(response.headers.get('content-range'), 'bytes 2-4/10');
    assert.equal(response.headers.get('accept-ranges'), 'bytes');
    assert.equal(response.body.toString(), 'cde');
  });

  await proxied.test('keeps one client connection through every kind of answer', async (run) => {
    const kinds: Record<string, string> = {
      length: respond('length'),
      empty: respond(''),
      chunked: respondChunked(['chunk', 'ed']),
      none: NO_CONTENT,
      unchanged: 'HTTP/1.1 304 Not Modified\r\n\r\n',
      large: respond('x'.repeat(100_000)),
      invalid: 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n',
      interim: `HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${respond('after')}`,
    };
    await run.script(eachRequest((request) => kinds[request.target.slice(1)]!));
    const client = await run.connect();
    const names = Object.keys(kinds);
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      for (const name of [...names, ...names.reverse()]) {
        // An answer with a body to HEAD costs the app's connection, which has nothing to do with the client's.
        client.send(
          `${method} /${name} HTTP/1.1\r\nHost: a\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`,
        );
        const response = await client.readResponse({ method });
        const expected = { none: 204, unchanged: 304, invalid: 502 }[name] ?? 200;
        assert.equal(response.status, expected, `${method} ${name}`);
      }
    }
    assert.equal(client.unread.length, 0);
  });

  const invalidLengths: readonly [string, string][] = [
    ['two equal ones', 'Content-Length: 5\r\nContent-Length: 5'],
    ['two that differ', 'Content-Length: 5\r\nContent-Length: 6'],
    ['an equal list', 'Content-Length: 5, 5'],
    ['a list that differs', 'Content-Length: 5, 6'],
    ['a word', 'Content-Length: foo'],
    ['a negative one', 'Content-Length: -1'],
    ['a signed one', 'Content-Length: +5'],
    ['a fraction', 'Content-Length: 5.0'],
    ['an exponent', 'Content-Length: 5e0'],
    ['a hexadecimal one', 'Content-Length: 0x5'],
    ['an underscore', 'Content-Length: 1_0'],
    ['a blank inside', 'Content-Length: 5 5'],
    ['none at all', 'Content-Length:'],
    ['an empty one before a right one', 'Content-Length:\r\nContent-Length: 5'],
    ['20 digits', 'Content-Length: 10000000000000000005'],
    ['2^53', 'Content-Length: 9007199254740992'],
    ['one beside chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked'],
    ['one behind chunks', 'Transfer-Encoding: chunked\r\nContent-Length: 5'],
    ['a full-width digit', 'Content-Length: \xef\xbc\x95'],
  ];
  for (const [what, lines] of invalidLengths) {
    await proxied.test(`answers 502 for a Content-Length that is ${what}, and drops the connection`, async (run) => {
      const { response, isReused } = await askTwice(run, `${OK}${lines}\r\n\r\nabcde`);
      assertErrorAnswer(response, 502);
      assert.ok(!isReused);
    });
  }

  const invalidCodings = [
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: gzip',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunkedx',
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding:',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding : chunked',
  ];
  for (const lines of invalidCodings) {
    await proxied.test(`answers 502 for ${JSON.stringify(lines)}, and drops the connection`, async (run) => {
      const { response, isReused } = await askTwice(run, `${OK}${lines}\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`);
      assertErrorAnswer(response, 502);
      assert.ok(!isReused);
    });
  }

  await proxied.test('answers 502 for chunks in an answer of HTTP/1.0', async (run) => {
    const { response } = await askTwice(
      run,
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    );
    assertErrorAnswer(response, 502);
  });

  const invalidChunks: readonly [string, string][] = [
    ['letters for a size', 'zz\r\nabc\r\n'],
    ['an empty size', '\r\nabc\r\n'],
    ['a negative size', '-1\r\nabc\r\n'],
    ['a signed size', '+3\r\nabc\r\n'],
    ['a size with 0x', '0x3\r\nabc\r\n'],
    ['a size of 17 digits', '10000000000000003\r\nabc\r\n'],
    ['a size over 2^53', 'fffffffffffffff\r\nabc\r\n'],
    ['a blank before the size', ' 3\r\nabc\r\n'],
    ['a size that ends in LF alone', '3\nabc\r\n'],
    ['a size that ends in CR alone', '3\rabc\r\n'],
    ['a control byte in an extension', '3;a=\x00\r\nabc\r\n'],
    ['data longer than its size', '3\r\nabcd\r\n'],
    ['data that ends in LF alone', '3\r\nabc\n3\r\nabc\r\n'],
    ['nothing between data and the next size', '3\r\nabc3\r\nabc\r\n'],
    ['trailers that are no fields', '0\r\nGET / HTTP/1.1\r\n\r\n'],
  ];
  for (const [what, chunks] of invalidChunks) {
    await proxied.test(`answers 502 for ${what} in the first read, and drops the connection`, async (run) => {
      const { response, isReused } = await askTwice(run, `${CHUNKED}${chunks}`);
      assertErrorAnswer(response, 502);
      assert.ok(!isReused);
    });

    await proxied.test(`cuts a response that has begun for ${what}`, async (run) => {
      const { head, body } = await askCut(run, `${CHUNKED}4\r\nsent\r\n`, (connection) => connection.send(chunks));
      assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
      assert.ok(!body.includes('\r\n0\r\n'), `the body looks complete: ${body}`);
      await run.app.accepted[0]!.closed;
    });
  }

  const cutBodies: readonly [string, string][] = [
    ['a Content-Length', `${OK}Content-Length: 100\r\n\r\nsent`],
    ['chunks, inside one', `${CHUNKED}64\r\nsent`],
    ['chunks, between two', `${CHUNKED}4\r\nsent\r\n`],
    ['chunks, inside a size', `${CHUNKED}4\r\nsent\r\n1`],
    ['chunks, before the blank line at the end', `${CHUNKED}4\r\nsent\r\n0\r\n`],
    ['chunks, inside the trailers', `${CHUNKED}4\r\nsent\r\n0\r\nX-T: 1\r\n`],
  ];
  const endings: readonly [string, (connection: ScriptedConnection) => void][] = [
    ['closes', (connection) => connection.end()],
    ['resets', (connection) => connection.reset()],
  ];
  for (const [how, end] of endings) {
    for (const [what, answer] of cutBodies) {
      await proxied.test(`cuts the client when the app ${how} in a body by ${what}`, async (run) => {
        const { head, body } = await askCut(run, answer, end);
        const isChunked = /\r\nTransfer-Encoding: chunked/.test(head);
        assert.equal(isChunked, answer.startsWith(CHUNKED));
        assert.ok(isChunked ? !body.includes('\r\n0\r\n') : body === 'sent', `the body looks complete: ${body}`);
      });
    }

    await proxied.test(`answers 502 when the app ${how} after the head and before the body`, async (run) => {
      for (const head of [`${OK}Content-Length: 100\r\n\r\n`, CHUNKED]) {
        await run.script(async (connection) => {
          await connection.readRequest();
          await connection.sendAndFlush(head);
          end(connection);
        });
        const client = await run.send();
        assertErrorAnswer(await client.readResponse(), 502);
      }
    });
  }

  await proxied.test('cuts the client when the app resets in a body that its close would end', async (run) => {
    const { head, body } = await askCut(run, `${OK}\r\nsent`, (connection) => connection.reset());
    assert.match(head, /\r\nTransfer-Encoding: chunked/);
    assert.ok('4\r\nsent\r\n'.startsWith(body), `the body looks complete: ${body}`);
  });

  await proxied.test('takes an answer of HTTP/1.0 and does not pool it, unless it says keep-alive', async (run) => {
    const plain = await askTwice(run, 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal(plain.response.statusLine, 'HTTP/1.1 200 OK');
    assert.equal(plain.response.body.toString(), 'ok');
    const kept = await askTwice(run, 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok');
    const closed = await askTwice(run, async (connection) => connection.end('HTTP/1.0 200 OK\r\n\r\nto the end'));
    assert.equal(closed.response.body.toString(), 'to the end');
    assert.deepEqual([plain.isReused, kept.isReused, closed.isReused], [false, true, false]);
  });

  const garbage: readonly [string, string | Buffer][] = [
    ['a body without a head', '<html><body>HTTP/0.9</body></html>\n'],
    ['the banner of SSH', 'SSH-2.0-OpenSSH_9.2p1 Debian\r\n'],
    ['the banner of SMTP', '220 mail.example ESMTP\r\n'],
    ['a TLS alert', Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x0a])],
    ['an HTTP/2 frame', Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 255, 255])],
    ['a request', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an empty line before the head', `\r\n${respond('')}`],
    ['a byte order mark', `\xef\xbb\xbf${respond('')}`],
    ['one NUL', '\0'],
    ['lines that end in LF alone', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ];
  for (const [what, bytes] of garbage) {
    await proxied.test(`answers 502 at once when the app sends ${what}`, async (run) => {
      assertErrorAnswer(await run.ask(bytes), 502);
      await run.app.accepted[0]!.closed;
    });
  }

  await proxied.test('answers 502 when the app talks before it is asked', async (run) => {
    await run.script((connection) => connection.send('SSH-2.0-OpenSSH_9.2p1 Debian\r\n'));
    assertErrorAnswer(await (await run.send()).readResponse(), 502);
  });

  for (const length of ['5000000000', '1000000000000000', '9007199254740991']) {
    await proxied.test(`keeps a Content-Length of ${length} exactly, and cuts it when the app does`, async (run) => {
      const megabyte = bytesOf(1024 * 1024);
      await run.script(async (connection) => {
        await connection.readRequest();
        connection.send(`${OK}Content-Length: ${length}\r\n\r\n`);
        await connection.sendAndFlush(megabyte);
        connection.end();
      });
      const client = await run.send();
      const { headers } = await client.readResponseHead();
      assert.equal(headers.get('content-length'), length);
      const body = await client.readToEnd();
      assert.ok(body.length <= megabyte.length && body.equals(megabyte.subarray(0, body.length)));
    });
  }
});
