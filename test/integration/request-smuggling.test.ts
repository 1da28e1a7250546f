import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import {
  assertUntouched,
  fieldsOf,
  forEachCase,
  forward,
  head,
  PROBE,
  record,
  refuse,
  refuseAsMalformed,
} from '../helpers/request-case.ts';
import { respond } from '../helpers/scripted-app.ts';
import { hasNewerBuild } from '../helpers/target.ts';

const POST = 'POST /x HTTP/1.1';
const SECRET = head('GET /secret HTTP/1.1');
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n';
const CHUNKED = head(POST, 'Transfer-Encoding: chunked');

test('request smuggling by framing fields', async (t) => {
  const proxied = await startProxiedApp(t);

  const badCodings = [
    ...[
      'xchunked',
      'identity',
      'gzip',
      'gzip, chunked',
      'chunked, gzip',
      'chunked, chunked',
      'chunked, identity',
      'chunked,',
    ],
    ...[
      ',chunked',
      'chunked;q=1',
      '"chunked"',
      'chunked chunked',
      'chun ked',
      'x',
      'chun\xe2\x84\xaaed',
      'c\xe9hunked',
      '\\chunked',
    ],
  ];
  for (const value of badCodings) {
    await proxied.test(`refuses Transfer-Encoding: ${value}`, async (run) => {
      await refuse(run, `${head(POST, `Transfer-Encoding: ${value}`)}${CHUNKS}`);
    });
  }

  await forEachCase(
    proxied,
    {
      'refuses chunked in two lines': head(POST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + CHUNKS,
      'refuses identity before chunked':
        head(POST, 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked') + CHUNKS,
      'refuses identity behind chunked':
        head(POST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity') + CHUNKS,
      'refuses an empty line behind chunked': head(POST, 'Transfer-Encoding: chunked', 'Transfer-Encoding:') + CHUNKS,
      'refuses a coding with a length': head(POST, 'Transfer-Encoding: chunked', 'Content-Length: 5') + CHUNKS,
      'refuses a length with a coding': head(POST, 'Content-Length: 5', 'Transfer-Encoding: chunked') + CHUNKS,
      'refuses a length of 0 with a coding': head(POST, 'Content-Length: 0', 'Transfer-Encoding: chunked') + CHUNKS,
      'refuses a length of nothing with a coding': head(POST, 'Content-Length:', 'Transfer-Encoding: chunked') + CHUNKS,
      'refuses a length with a coding that is none': head(POST, 'Content-Length: 5', 'Transfer-Encoding: x') + CHUNKS,
      'refuses two lengths': `${head(POST, 'Content-Length: 5', 'Content-Length: 6')}hello`,
      'refuses two lengths, the longer one first': `${head(POST, 'Content-Length: 6', 'Content-Length: 5')}hello!`,
      'refuses the same length twice': `${head(POST, 'Content-Length: 5', 'Content-Length: 5')}hello`,
      'refuses a length before an empty one': `${head(POST, 'Content-Length: 5', 'Content-Length:')}hello`,
      'refuses three lengths': `${head(POST, ...[5, 5, 5].map((length) => `Content-Length: ${length}`))}hello`,
    },
    (run, request) => refuse(run, request),
  );

  const badLengths = [
    ...[
      '5, 6',
      '5, 5',
      '5,5',
      '5,',
      ',5',
      '+5',
      '-0',
      '-5',
      '0x5',
      '0b101',
      '0o5',
      '5 5',
      '5\t5',
      '1_0',
      '1,0',
      '05',
      '5.0',
      '5e0',
      '5;',
    ],
    ...['"5"', "'5'", '(5)', 'five', 'NaN', 'Infinity', '5a', 'a5', '5\xb95', '9'.repeat(19)],
    ...['9'.repeat(20), '18446744073709551621', `${'0'.repeat(30)}5`, '9'.repeat(400)],
  ];
  for (const value of badLengths) {
    await proxied.test(`refuses Content-Length: ${value.slice(0, 40)}`, async (run) => {
      await refuse(run, `${head(POST, `Content-Length: ${value}`)}hello`);
    });
  }

  for (const value of ['9007199254740992', '999999999999999999']) {
    await proxied.test(
      `refuses Content-Length: ${value}, and closes without waiting for as many bytes`,
      async (run) => {
        const seen = await record(run);
        const client = await run.send(`${head(POST, `Content-Length: ${value}`)}hello`);
        assert.equal((await client.readResponse()).status, 400);
        // Without this it would close after a silence of two seconds: what was sent is read for a while, so that a close
        // with bytes unread does not take the answer away.
        client.end();
        await client.closed;
        await assertUntouched(run, seen);
      },
    );
  }

  // Without a body behind them: uWebSockets.js takes them for 0, and reads a body as the next request.
  for (const field of ['Content-Length:', 'Content-Length: 00', 'Content-Length:  ', 'Transfer-Encoding:']) {
    await proxied.test(`refuses ${field}`, async (run) => {
      await refuse(run, head(POST, field));
    });
  }

  await proxied.test('refuses an empty length before a real one', async (run) => {
    await refuse(run, head(POST, 'Content-Length:', 'Content-Length: 5'));
  });

  await forEachCase(
    proxied,
    {
      'lets no vertical tab before a coding through': head(POST, 'Transfer-Encoding: \x0bchunked') + CHUNKS,
      'lets no vertical tab behind a coding through': head(POST, 'Transfer-Encoding: chunked\x0b') + CHUNKS,
      'lets no form feed before a coding through': head(POST, 'Transfer-Encoding: \x0cchunked') + CHUNKS,
      'lets no NUL behind a coding through': head(POST, 'Transfer-Encoding: chunked\0') + CHUNKS,
      'lets no NUL within the name of a coding through': head(POST, 'Transfer-\0Encoding: chunked') + CHUNKS,
      'lets no blank before the colon of a coding through': head(POST, 'Transfer-Encoding : chunked') + CHUNKS,
      'lets no tab before the colon of a length through': `${head(POST, 'Content-Length\t: 5')}hello`,
      'lets no coding on a folded line through': head(POST, 'Transfer-Encoding:', ' chunked') + CHUNKS,
      'lets no coding on a line that begins with a blank through':
        head(POST, 'X: y', ' Transfer-Encoding: chunked') + CHUNKS,
      'lets no coding behind a bare LF through': head(POST, 'X: y\nTransfer-Encoding: chunked') + CHUNKS,
      'lets no length behind a bare LF through': `${head(POST, 'X: y\nContent-Length: 5')}hello`,
      'lets no vertical tab before a length through': `${head(POST, 'Content-Length: \x0b5')}hello`,
      'lets no name outside ASCII through': head(POST, 'Tran\xe2\x84\xaasfer-Encoding: chunked') + CHUNKS,
    },
    refuseAsMalformed,
  );

  for (const [name, field, body] of [
    ['in capitals', 'TRANSFER-ENCODING: CHUNKED', CHUNKS],
    ['in mixed case', 'transfer-Encoding: Chunked', CHUNKS],
    ['with blanks and tabs around it', 'Transfer-Encoding: \t chunked\t ', CHUNKS],
    // uWebSockets.js takes bytes above 0x7F at the ends of a value for blanks, and hides them.
    ['between bytes above 0x7F', 'Transfer-Encoding: \xa0chunked\xa0', CHUNKS],
  ] as const) {
    await proxied.test(`writes the coding ${name} in its own way for the app`, async (run) => {
      const request = await forward(run, head(POST, field) + body);
      assert.deepEqual(fieldsOf(request), ['Transfer-Encoding: chunked']);
      assert.equal(request.body.toString(), 'hello');
    });
  }

  for (const value of ['5', ' \t5\t ', '\xa05\xa0', '\xb95', '5\xef\xbc\x95']) {
    await proxied.test(`writes the length ${JSON.stringify(value)} in its own way for the app`, async (run) => {
      const request = await forward(run, `${head(POST, `Content-Length: ${value}`)}hello`);
      assert.deepEqual(fieldsOf(request), ['Content-Length: 5']);
      assert.equal(request.body.toString(), 'hello');
    });
  }

  await proxied.test('knows no coding with an underscore', async (run) => {
    const request = head(POST, 'Transfer_Encoding: chunked', 'Content_Length: 5');
    if (!hasNewerBuild) return refuseAsMalformed(run, request);
    const seen = await forward(run, request);
    assert.equal(seen.framing, 'none');
    assert.deepEqual(fieldsOf(seen), []);
  });
});

test('request smuggling by a refused request', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_HEALTH_PATH: '/up' } });

  const refused: Readonly<Record<string, string>> = {
    'of two lengths': `${head(POST, 'Content-Length: 5', 'Content-Length: 6')}hello`,
    'of a length with a zero before it': `${head(POST, 'Content-Length: 05')}hello`,
    'of an empty length': head(POST, 'Content-Length:'),
    'of an unknown coding': head(POST, 'Transfer-Encoding: xchunked') + CHUNKS,
    'of a coding in two lines': head(POST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + CHUNKS,
    'of HEAD with an unknown coding': head('HEAD / HTTP/1.1', 'Transfer-Encoding: xchunked') + CHUNKS,
    'of HEAD without a body': head('HEAD /#a HTTP/1.1'),
    'of two lengths on the health path': `${head('GET /up HTTP/1.1', 'Content-Length: 5', 'Content-Length: 6')}hello`,
    'of an unknown coding on the health path': head('GET /up HTTP/1.1', 'Transfer-Encoding: x') + CHUNKS,
    'for another Host': head('GET / HTTP/1.1', 'Host: a/b'),
    'for a fragment': head('GET /#a HTTP/1.1'),
    'that expects the impossible': `${head(POST, 'Expect: x', 'Content-Length: 5')}hello`,
    'that wants to be the last': head('GET /#a HTTP/1.1', 'Connection: close'),
  };
  for (const [name, request] of Object.entries(refused)) {
    await proxied.test(`${name}: what comes with it is not read as a request`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request + SECRET);
      const received = (await client.readToEnd()).toString('latin1');
      assert.doesNotMatch(received, /200 OK/);
      await assertUntouched(run, seen);
    });

    await proxied.test(`${name}: what comes behind its answer is not read as a request`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request);
      const { status } = await client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
      assert.ok([400, 417].includes(status), `${status}`);
      client.send(SECRET);
      assert.equal((await client.readToEnd()).toString('latin1'), '');
      await assertUntouched(run, seen);
    });
  }
});

test('request smuggling by the body', async (t) => {
  const proxied = await startProxiedApp(t);

  /** What the app got of a request that it never answers: its head, and whatever came behind it. */
  const startSilentApp = async (run: ProxiedCase) => {
    const got = { heads: [] as string[], rest: '' };
    await run.script(async (connection) => {
      got.heads.push((await connection.readRequestHead()).requestLine);
      await connection.closed;
      got.rest += connection.unread.toString('latin1');
    });
    return got;
  };

  for (const [name, request] of [
    ['a length', head('DELETE /x HTTP/1.1', `Content-Length: ${SECRET.length}`) + SECRET],
    [
      'chunks',
      `${head('DELETE /x HTTP/1.1', 'Transfer-Encoding: chunked')}${SECRET.length.toString(16)}\r\n${SECRET}\r\n0\r\n\r\n`,
    ],
    [
      'chunks, of OPTIONS',
      `${head('OPTIONS /x HTTP/1.1', 'Transfer-Encoding: chunked')}${SECRET.length.toString(16)}\r\n${SECRET}\r\n0\r\n\r\n`,
    ],
    ['chunks that hold chunks', `${CHUNKED}${(7 + SECRET.length).toString(16)}\r\n\r\n0\r\n\r\n${SECRET}\r\n0\r\n\r\n`],
  ] as const) {
    await proxied.test(`that reads like a request stays a body (${name})`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request);
      assert.equal((await client.readResponse()).status, 200);
      assert.ok(seen[0]!.body.toString().endsWith(SECRET));
      await assertUntouched(run, seen, 1);
    });
  }

  for (const [name, line] of [
    ['an extension behind a blank', '5 ;a=1'],
    ['a quoted extension behind a blank', '5 ;a="x y"'],
    ['a blank', '5 '],
    ['a tab', '5\t'],
  ] as const) {
    await proxied.test(`reads a chunk size with ${name}`, async (run) => {
      const request = await forward(run, `${CHUNKED}${line}\r\nhello\r\n0\r\n\r\n`);
      assert.equal(request.body.toString(), 'hello');
      assert.deepEqual(request.chunkSizes, [5]);
    });
  }

  // Not as RFC 9112 section 7.1 has it, but uWebSockets.js's own: the app gets correct chunks, whatever came in.
  for (const [name, body, expected] of [
    ['the digit g for 16', `g\r\n${'a'.repeat(16)}\r\n0\r\n\r\n`, 'a'.repeat(16)],
    ['a colon for 10', ':\r\n0123456789\r\n0\r\n\r\n', '0123456789'],
    ['a bare LF behind a size', '5\nhello\r\n0\r\n\r\n', 'hello'],
    ['any byte for the CR behind a size', '5\0\nhello\r\n0\r\n\r\n', 'hello'],
    ['any two bytes behind a chunk', '5\r\nhelloXX0\r\n\r\n', 'hello'],
    ['any two bytes behind the last chunk', '5\r\nhello\r\n0\r\nXX', 'hello'],
    ['an extension of the last chunk behind a blank', '5\r\nhello\r\n0 ;a=1\r\n\r\n', 'hello'],
  ] as const) {
    await proxied.test(`takes ${name}, and frames the body correctly for the app`, async (run) => {
      const seen = await record(run);
      const client = await run.send(CHUNKED + body);
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(seen[0]!.body.toString(), expected);
      client.send(head('GET /next HTTP/1.1'));
      assert.equal((await client.readResponse()).status, 200);
      assert.deepEqual(
        seen.map(({ target }) => target),
        ['/x', '/next'],
      );
    });
  }

  for (const line of [
    '0x5',
    '-1',
    '+5',
    'zz',
    '5,5',
    '5_',
    '`',
    '/',
    '5;a="x"',
    '10000000000000005',
    'fffffffffffffffff',
    '5.0',
    '5"',
  ]) {
    await proxied.test(`refuses the chunk size ${line}, and cuts the request at the app`, async (run) => {
      const got = await startSilentApp(run);
      const client = await run.send(`${CHUNKED}${line}\r\nhello\r\n0\r\n\r\n${SECRET}`);
      const received = (await client.readToEnd()).toString('latin1');
      assert.match(received, /^HTTP\/1\.1 400 /);
      await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
      // It may have been connected, and even been sent the head, before the size line was read.
      assert.ok(got.heads.length <= 1);
      assert.doesNotMatch(got.rest, /hello|secret/);
    });
  }

  await proxied.test('cuts the request at the app when a later chunk is malformed', async (run) => {
    const got = await startSilentApp(run);
    const client = await run.send(`${CHUNKED}5\r\nhello\r\n`);
    await run.app.until((app) => app.requests === 1, 'the head at the app');
    client.send(`xyz\r\n${SECRET}`);
    assert.match((await client.readToEnd()).toString('latin1'), /^HTTP\/1\.1 400 /);
    await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
    assert.equal(got.rest, '5\r\nhello\r\n');
    assert.deepEqual(got.heads, ['POST /x HTTP/1.1']);
  });

  // uWebSockets.js folds `;a=1` into the size (uWebSockets#1936): a legal body that never ends. Nothing behind it is
  // ever read as a request, by uwsrp or by the app, and the client's connection falls to the upload's timeout.
  for (const [name, body] of [
    ['of a chunk', '5;a=1\r\nhello\r\n0\r\n\r\n'],
    ['of the last chunk', '5\r\nhello\r\n0;a=1\r\n\r\n'],
    ['without a value', '5;a\r\nhello\r\n0\r\n\r\n'],
  ] as const) {
    await proxied.test(
      `takes all that follows for body behind an extension ${name} without a blank before it`,
      async (run) => {
        const got = await startSilentApp(run);
        const client = await run.send(CHUNKED + body);
        await run.app.until((app) => app.requests === 1, 'the head at the app');
        client.send(SECRET);
        const other = await run.send(head('GET /other HTTP/1.1'));
        await run.app.until((app) => app.requests === 2, 'the request of another client at the app');
        assert.equal(client.receivedLength, 0);
        client.destroy();
        other.destroy();
        await run.app.until((app) => app.connections === 0, 'the connections to the app to be closed');
        assert.deepEqual(got.heads, ['POST /x HTTP/1.1', 'GET /other HTTP/1.1']);
        // The chunks of the app's request are never ended.
        assert.doesNotMatch(got.rest, /(^|\n)0\r\n\r\n$/);
      },
    );
  }

  for (const [name, body] of [
    ['an empty size line', '\r\nhello\r\n0\r\n\r\n'],
    ['a blank before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
  ] as const) {
    await proxied.test(
      `takes ${name} for the end of the body, and what follows for no request that can be answered`,
      async (run) => {
        const seen = await record(run);
        const client = await run.send(CHUNKED + body);
        const other = await run.send(PROBE);
        assert.equal((await other.readResponse()).status, 200);
        // The older build ends the connection at once, before the request could go to the app or be answered.
        for (const { target, body } of seen) {
          assert.ok(['/x', '/probe'].includes(target), target);
          assert.equal(body.length, 0);
        }
        assert.match(client.received.toString('latin1'), /^($|HTTP\/1\.1 (200 OK\r\n|505 ))/);
      },
    );
  }

  for (const [name, trailers] of [
    ['a field', 'X-T: 1\r\n\r\n'],
    ['two fields', 'X-T: 1\r\nX-U: 2\r\n\r\n'],
    ['a framing field', 'Content-Length: 50\r\n\r\n'],
    ['a request', SECRET],
    ['a request behind two bytes', `XY${SECRET}`],
    ['a request behind a field', `X-T: 1\r\n${SECRET}`],
  ] as const) {
    await proxied.test(
      `ends the connection for trailers that hold ${name}, and shows the app no second request`,
      async (run) => {
        const targets: string[] = [];
        await run.script(async (connection) => {
          while (await connection.hasMore()) {
            const request = await connection.readRequest();
            targets.push(request.target);
            connection.send(respond('ok'));
          }
        });
        const client = await run.send(`${CHUNKED}5\r\nhello\r\n0\r\n${trailers}`);
        assert.doesNotMatch((await client.readToEnd()).toString('latin1'), /secret/);
        const seen = await record(run);
        await assertUntouched(run, seen);
        assert.ok(
          targets.every((target) => target === '/x'),
          targets.join(),
        );
        assert.ok(targets.length <= 1);
      },
    );
  }

  // A field with an empty name ends the fields for uWebSockets.js, on both builds: for its own reading of the framing as
  // for ours. What such a field hides is never framing for one and not for the other.
  await proxied.test('frames by the fields before one with an empty name, for itself and for the app', async (run) => {
    for (const [fields, body] of [
      [['Content-Length: 5', ': b', 'Content-Length: 50'], 'hello'],
      [['Content-Length: 5', ': b', 'Transfer-Encoding: chunked'], 'hello'],
      [['Transfer-Encoding: chunked', ': b', 'Content-Length: 5'], CHUNKS],
      [['Transfer-Encoding: chunked', ': b', 'Transfer-Encoding: identity'], CHUNKS],
    ] as const) {
      const seen = await record(run);
      const client = await run.send(head(POST, ...fields));
      client.send(body);
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(seen[0]!.body.toString(), 'hello');
      assert.deepEqual(fieldsOf(seen[0]!).length, 1);
      client.send(head('GET /next HTTP/1.1'));
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(seen[1]!.requestLine, 'GET /next HTTP/1.1');
    }
  });

  for (const field of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
    await proxied.test(
      `reads a request without a body when its ${field} is behind a field with an empty name`,
      async (run) => {
        const seen = await record(run);
        const client = await run.send(head(POST, ': b', field));
        assert.equal((await client.readResponse()).status, 200);
        assert.equal(seen[0]!.framing, 'none');
        assert.deepEqual(fieldsOf(seen[0]!), []);
        assert.equal(run.app.accepted[0]!.unread.length, 0);
      },
    );
  }
});
