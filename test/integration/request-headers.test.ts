import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import {
  assertUntouched,
  fieldsOf,
  forEachCase,
  forward,
  head,
  leaveUnanswered,
  record,
  refuse,
  refuseAsMalformed,
} from '../helpers/request-case.ts';
import { hasNewerBuild } from '../helpers/target.ts';

const LINE = 'GET /x HTTP/1.1';

test('the fields of a request', async (t) => {
  const proxied = await startProxiedApp(t);

  /** A case that sends these fields, and names those that the app must get, in order. */
  const handsOn = (name: string, sent: readonly string[], expected: readonly string[]) =>
    proxied.test(name, async (run) => {
      assert.deepEqual(fieldsOf(await forward(run, head(LINE, ...sent))), expected);
    });

  await proxied.test('adds nothing but the forwarding fields, and puts Host first', async (run) => {
    const request = await forward(run, 'GET / HTTP/1.1\r\nX-A: 1\r\nhOST: a.example\r\n\r\n');
    assert.match(
      request.rawHead.toString('latin1'),
      new RegExp(
        '^GET / HTTP/1\\.1\r\nHost: a\\.example\r\nx-a: 1\r\nX-Forwarded-For: 127\\.0\\.0\\.1\r\nX-Forwarded-Proto: http' +
          '\r\nX-Forwarded-Host: a\\.example\r\nX-Forwarded-Port: 80\r\nX-Request-Start: t=\\d{13}\r\n(X-Request-Id: [^\r]+\r\n)?\r\n$',
        'i',
      ),
    );
  });

  await handsOn(
    'keeps repeated fields apart and in order',
    ['X-A: 1', 'X-B: 2', 'X-A: 3'],
    ['x-a: 1', 'x-b: 2', 'x-a: 3'],
  );

  await handsOn('keeps two Cookie lines apart', ['Cookie: a=1', 'Cookie: b=2'], ['cookie: a=1', 'cookie: b=2']);

  await handsOn(
    'keeps empty values, and takes the blanks off the others',
    ['X-Empty:', 'X-Blank: \t ', 'X-Tight:a', 'X-Tab:\ta\tb\t', 'X-Colon: a:b: c'],
    ['x-empty: ', 'x-blank: ', 'x-tight: a', 'x-tab: a\tb', 'x-colon: a:b: c'],
  );

  await handsOn(
    'keeps a value with every printable char',
    [`X-A: ${Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')}`],
    [`x-a: ${Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')}`],
  );

  await proxied.test('keeps every byte above 0x7F inside a value', async (run) => {
    const bytes = Array.from({ length: 128 }, (_, index) => String.fromCharCode(128 + index)).join('');
    const request = await forward(run, head(LINE, `X-A: <${bytes}>`, 'X-B: 1'));
    assert.equal(request.headers.get('x-a'), `<${bytes}>`);
    assert.equal(request.headers.get('x-b'), '1');
  });

  await handsOn(
    'keeps UTF-8 in both values of a repeated field',
    ['X-A: <\xc3\xa9>', 'X-A: <\xe2\x82\xac>'],
    ['x-a: <\xc3\xa9>', 'x-a: <\xe2\x82\xac>'],
  );

  // uWebSockets.js takes them for blanks.
  await handsOn(
    'loses bytes above 0x7F at the start and the end of a value',
    ['X-A: \xe9b', 'X-B: b\xe9', 'X-C: \xc3\xa9'],
    ['x-a: b', 'x-b: b', 'x-c: '],
  );

  await forEachCase(
    proxied,
    {
      'refuses bytes that are not UTF-8 in the second line of a field, since they cannot be had': head(
        LINE,
        'X-A: 1',
        'X-A: <\xe9>',
      ),
      'refuses a field twice with bytes that are not UTF-8': head(LINE, 'X-A: <\xe9>', 'X-A: <\xe9>'),
      'refuses DEL in a value': head(LINE, 'X-A: a\x7fb'),
      'refuses DEL in the second line of a field': head(LINE, 'X-A: 1', 'X-A: a\x7fb'),
    },
    (run, request) => refuse(run, request, 400),
  );

  await forEachCase(
    proxied,
    {
      'lets no NUL in a value through': head(LINE, 'X-A: a\0b', 'X-B: 1'),
      'lets no bare LF in a value through': head(LINE, 'X-A: a\nX-B: 1'),
      'lets no 0x01 in a value through': head(LINE, 'X-A: a\x01b'),
      'lets no 0x1F at the end of a value through': head(LINE, 'X-A: a\x1f'),
      'lets no vertical tab before a value through': head(LINE, 'X-A: \x0ba'),
      'lets no folded line through': head(LINE, 'X-A: a', ' folded', 'X-B: 1'),
      'lets no line folded by a tab through': head(LINE, 'X-A: a', '\tX-B: 1'),
      'lets no field through that begins with a blank': `${LINE}\r\n X-A: 1\r\nHost: a.example\r\n\r\n`,
      'lets no line without a colon through': head(LINE, 'no colon', 'X-B: 1'),
      'lets no blank before a colon through': head(LINE, 'X-A : 1'),
      'lets no blank before the colon of Host through': 'GET / HTTP/1.1\r\nHost : a.example\r\n\r\n',
      'lets no blank in a name through': head(LINE, 'X A: 1'),
      'lets no NUL in a name through': head(LINE, 'X\0A: 1'),
      'lets no name outside ASCII through': head(LINE, 'X-\xc3\xa9: 1'),
      'lets no name with a parenthesis through': head(LINE, 'X(: 1'),
      'lets no name with a slash through': head(LINE, 'X/A: 1'),
      'lets no name with a comma through': head(LINE, 'X,A: 1'),
      'lets no name with an at sign through': head(LINE, 'X@A: 1'),
      'lets no name with a bracket through': head(LINE, 'X[: 1'),
      'lets no name in quotes through': head(LINE, '"X": 1'),
      'lets no head through that ends in a bare LF': `${LINE}\r\nHost: a.example\r\n\n`,
      'lets no line through that ends in a bare LF': `${LINE}\r\nHost: a.example\nX-A: 1\r\n\r\n`,
      'lets no request without any field through': `${LINE}\r\n\r\n`,
    },
    refuseAsMalformed,
  );

  await forEachCase(
    proxied,
    {
      'never answers a bare CR in a value': head(LINE, 'X-A: a\rX-B: 1'),
      'never answers a CR before the CRLF': head(LINE, 'X-A: a\r', 'X-B: 1'),
    },
    leaveUnanswered,
  );

  await proxied.test('knows names with any token char, or refuses some as malformed (older build)', async (run) => {
    const plain = 'X-9: 1';
    const odd = ["a!#$%&'*+.^_`|~: 1", 'a!: 1', '!: 1', 'a.b: 1', 'a~: 1', 'a|b: 1', 'a_b: 1'];
    assert.deepEqual(fieldsOf(await forward(run, head(LINE, plain))), ['x-9: 1']);
    for (const field of odd) {
      if (hasNewerBuild) assert.deepEqual(fieldsOf(await forward(run, head(LINE, field))), [field]);
      else await refuseAsMalformed(run, head(LINE, field));
    }
  });

  await proxied.test(
    'drops names with an underscore that would pose as a field of ours, and no others',
    async (run) => {
      const posing = [
        'X_Forwarded_For',
        'X-Forwarded_Proto',
        'x_real_ip',
        'Content_Length',
        'Transfer_Encoding',
        'X_Request_Id',
      ];
      const sent = head(LINE, 'X-User: b', 'X_User: a', ...posing.map((name) => `${name}: 7`));
      if (hasNewerBuild) assert.deepEqual(fieldsOf(await forward(run, sent)), ['x-user: b', 'x_user: a']);
      else await refuseAsMalformed(run, sent);
    },
  );

  // uWebSockets.js takes it for the end of the fields, on both builds, and its own reading of the framing ends there too.
  await handsOn('reads no field behind one with an empty name', ['X-A: 1', ': v', 'X-B: 2'], ['x-a: 1']);

  await proxied.test('hands on as many fields as fit: 98, Host among them', async (run) => {
    const fields = Array.from({ length: 97 }, (_, index) => `x-${index}: ${index}`);
    assert.deepEqual(fieldsOf(await forward(run, head(LINE, ...fields))), fields);
  });

  for (const count of [99, 300]) {
    await proxied.test(`lets no request with ${count} fields through`, async (run) => {
      const request = head(LINE, ...Array.from({ length: count - 1 }, (_, index) => `X-${index}: ${index}`));
      if (hasNewerBuild) await refuse(run, request, 431);
      else await refuseAsMalformed(run, request);
    });
  }

  await handsOn(
    'drops what concerns the connection to uwsrp only',
    [
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic x',
      'TE: gzip',
      'Trailer: X-T',
      'Upgrade: h2c',
      'Connection: Upgrade, HTTP2-Settings',
      'HTTP2-Settings: AAMAAABkAAQ',
      'X-Stays: here',
    ],
    ['x-stays: here'],
  );

  await handsOn('drops Proxy, which CGI-like apps read as their proxy', ['Proxy: http://evil.example'], []);

  await handsOn(
    'drops the fields that Connection names, in any case and wherever they stand',
    ['X-First: 1', 'Connection: x-first,,X-HOP ,\tx-last', 'x-hop: 2', 'X-Hops: stays', 'X-Hop: 3', 'X-Last: 4'],
    ['x-hops: stays'],
  );

  await handsOn(
    'drops the fields that a second Connection line names, after an empty one',
    ['Connection:', 'Connection: X-Hop', 'X-Hop: 1', 'X-A: 1'],
    ['x-a: 1'],
  );

  await handsOn(
    'drops the fields that any of three Connection lines names',
    ['X-A: 1', 'Connection: x-a', 'Connection: keep-alive', 'Connection: X-C', 'X-B: 2', 'X-C: 3'],
    ['x-b: 2'],
  );

  await proxied.test('drops Cookie and Authorization when Connection names them', async (run) => {
    const sent = ['Connection: Cookie, Authorization', 'Cookie: a=1', 'Authorization: Basic x', 'Accept: text/html'];
    assert.deepEqual(fieldsOf(await forward(run, head(LINE, ...sent))), ['accept: text/html']);
  });

  await proxied.test('keeps Host, framing and its own fields when Connection names them', async (run) => {
    const names =
      'Host, Content-Length, Transfer-Encoding, X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Port, ' +
      'X-Request-Start, X-Request-Id, Forwarded, X-Real-IP';
    const sent = ['Forwarded: for=192.0.2.7', 'X-Real-IP: 192.0.2.7', 'X-Forwarded-For: 192.0.2.7'];
    const withLength = head('POST / HTTP/1.1', `Connection: ${names}`, 'Content-Length: 5', ...sent);
    const request = await forward(run, `${withLength}hello`);
    assert.equal(request.headers.get('host'), 'a.example');
    assert.equal(request.headers.get('content-length'), '5');
    assert.equal(request.headers.get('x-forwarded-for'), '192.0.2.7, 127.0.0.1');
    assert.equal(request.headers.get('x-forwarded-proto'), 'http');
    assert.equal(request.headers.get('x-forwarded-host'), 'a.example');
    assert.equal(request.headers.get('x-forwarded-port'), '80');
    assert.match(request.headers.get('x-request-start')!, /^t=\d{13}$/);
    assert.equal(request.headers.get('forwarded'), 'for=192.0.2.7');
    assert.equal(request.headers.get('x-real-ip'), '192.0.2.7');
    assert.equal(request.body.toString(), 'hello');

    const chunked = head('POST / HTTP/1.1', `Connection: ${names}`, 'Transfer-Encoding: chunked');
    assert.equal((await forward(run, `${chunked}5\r\nhello\r\n0\r\n\r\n`)).body.toString(), 'hello');
  });

  await proxied.test('leaves Max-Forwards alone, and answers neither OPTIONS nor TRACE by itself', async (run) => {
    for (const method of ['OPTIONS', 'TRACE', 'GET']) {
      const request = await forward(run, head(`${method} /x HTTP/1.1`, 'Max-Forwards: 0'));
      assert.equal(request.method, method);
      assert.deepEqual(fieldsOf(request), ['max-forwards: 0']);
    }
  });

  await handsOn('leaves a Via as it is', ['Via: 1.1 front', 'Via: 2 other'], ['via: 1.1 front', 'via: 2 other']);

  await handsOn(
    'leaves conditional, range and negotiation fields as they are',
    [
      'Range: bytes=0-1',
      'If-Range: "a"',
      'If-None-Match: W/"a", "b"',
      'Accept: */*;q=0.1',
      'Accept-Encoding: gzip;q=0, br',
    ],
    [
      'range: bytes=0-1',
      'if-range: "a"',
      'if-none-match: W/"a", "b"',
      'accept: */*;q=0.1',
      'accept-encoding: gzip;q=0, br',
    ],
  );

  const hosts = [
    ...[
      'a',
      'a.example',
      'A.Example',
      'a.example.',
      'a.example:80',
      'a.example:',
      'a_b.example',
      '-a',
      '1.2.3.4',
      '1.2.3.4:65535',
    ],
    ...['[::1]', '[::1]:8080', '[2001:DB8::1]', 'xn--9ca.example', `${'a'.repeat(63)}.example`],
  ];
  for (const host of hosts) {
    await proxied.test(`takes the Host ${host}, and hands it on as it is`, async (run) => {
      const request = await forward(run, head(LINE, `Host: ${host}`));
      assert.equal(request.headers.get('host'), host);
      assert.equal(request.headers.get('x-forwarded-host'), host);
    });
  }

  await forEachCase(
    proxied,
    {
      'refuses a request without Host': `${LINE}\r\nX-A: 1\r\n\r\n`,
      'refuses two Hosts': head(LINE, 'Host: a.example', 'Host: b.example'),
      'refuses the same Host twice': head(LINE, 'Host: a.example', 'HOST: a.example'),
      'refuses a Host behind an empty one': head(LINE, 'Host:', 'Host: a.example'),
      'refuses a Host before an empty one': head(LINE, 'Host: a.example', 'Host:'),
      'refuses a Host behind a field with an empty name': `${LINE}\r\n: b\r\nHost: a.example\r\n\r\n`,
    },
    (run, request) => refuse(run, request, 400),
  );

  const badHosts = [
    ...[
      '',
      'a, b',
      'a,b',
      'a/b',
      'a/',
      '/a',
      'a?b',
      'a#b',
      'a\\b',
      'a b',
      'a\tb',
      'a@b',
      'user:pw@a',
      'http://a',
      'a%20b',
      '%61',
    ],
    ...[
      'a:x',
      'a:80x',
      'a:-1',
      'a:65536',
      'a:080808',
      'a:80:80',
      ':80',
      ':',
      'a..b',
      '.a',
      '.',
      '[::1',
      '::1',
      '[::1]x',
      '[::1]:x',
    ],
    ...[
      '[]',
      '[1.2.3.4]',
      '[fe80::1%25eth0]',
      '[fe80::1%eth0]',
      'a"b',
      "<a>'",
      'a|b',
      'a^b',
      'a`b',
      '{a}',
      'a\x7fb',
      'a\xe9b',
    ],
    ...['a\xc3\xa9b', 'a\xc4\x8d\xc4\x8ab', 'a'.repeat(256)],
  ];
  for (const host of badHosts) {
    await proxied.test(`refuses the Host ${JSON.stringify(host.slice(0, 40))}`, async (run) => {
      await refuse(run, head(LINE, `Host: ${host}`), 400);
    });
  }

  await proxied.test('takes fields of 30 KiB each', async (run) => {
    const fields = ['a', 'b'].map((letter) => `x-${letter}: ${letter.repeat(30 * 1024)}`);
    assert.deepEqual(fieldsOf(await forward(run, head(LINE, ...fields))), fields);
  });

  await proxied.test('refuses a head that never ends, after a bounded number of bytes', async (run) => {
    const seen = await record(run);
    const client = await run.send(`${LINE}\r\nHost: a.example\r\nX-A: `);
    let sentBytes = 0;
    let isClosed = false;
    void client.closed.then(() => {
      isClosed = true;
    });
    const piece = 'a'.repeat(8192);
    for (; !isClosed && sentBytes < 8 * 1024 * 1024; sentBytes += piece.length) {
      await client.sendAndFlush(piece).catch(() => {});
      await turn();
    }
    assert.ok(sentBytes < 8 * 1024 * 1024, 'the connection is still open after 8 MiB of head');
    await assertUntouched(run, seen);
  });
});
