import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertErrorAnswer, GET, startProxiedApp } from '../helpers/proxied-app.ts';
import { respond } from '../helpers/scripted-app.ts';

/** What is added to every response. */
const ADDED = ['Date', 'Content-Length', 'X-Request-Id'];

test('the head of a response', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('keeps three Set-Cookie lines apart and in order', async (run) => {
    const cookies = ['a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/', 'b=2; HttpOnly', 'a=3'];
    const response = await run.ask(respond('', { head: cookies.map((cookie) => `Set-Cookie: ${cookie}`) }));
    assert.deepEqual(response.headers.all('set-cookie'), cookies);
  });

  await proxied.test('keeps names, their case, values and order, also of repeated fields', async (run) => {
    const head = [
      'X-b: 2',
      'x-A: 1',
      'X-b:  two  ',
      'ETag: "v1"',
      'vary: Accept',
      'Vary: Origin',
      'LINK: <a>; rel="x"',
    ];
    const response = await run.ask(respond('x', { head }));
    assert.deepEqual(
      response.headers.list.filter(([name]) => !ADDED.includes(name)),
      [
        ['X-b', '2'],
        ['x-A', '1'],
        ['X-b', 'two'],
        ['ETag', '"v1"'],
        ['vary', 'Accept'],
        ['Vary', 'Origin'],
        ['LINK', '<a>; rel="x"'],
      ],
    );
  });

  await proxied.test('hands on empty values, values without a blank before them, and every token char', async (run) => {
    const head = ['X-Empty:', 'X-Blank:    ', 'X-Tight:a:b', 'X-Tab:\tc\td\t', "X!#$%&'*+.^_`|~9: e"];
    const { headers } = await run.ask(respond('', { head }));
    assert.equal(headers.get('x-empty'), '');
    assert.equal(headers.get('x-blank'), '');
    assert.equal(headers.get('x-tight'), 'a:b');
    assert.equal(headers.get('x-tab'), 'c\td');
    assert.equal(headers.get("x!#$%&'*+.^_`|~9"), 'e');
  });

  await proxied.test('hands on bytes above 0x7F as they are, in values and in the reason', async (run) => {
    const latin1 = Array.from({ length: 128 }, (_, index) => String.fromCharCode(128 + index)).join('');
    const response = await run.ask(respond('', { status: '200 S\xfc\xdf', head: [`X-Bytes: ${latin1}`] }));
    assert.equal(response.headers.get('x-bytes'), latin1);
    assert.equal(response.reason, 'S\xfc\xdf');
  });

  await proxied.test('hands on bytes above 0x7F with a body that is sent in pieces', async (run) => {
    const response = await run.ask(
      'HTTP/1.1 200 OK\r\nX-A: \xe4\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    );
    assert.equal(response.headers.get('x-a'), '\xe4');
    assert.equal(response.body.toString(), 'a');
  });

  await proxied.test('has no field twice when the app sends none at all', async (run) => {
    const response = await run.ask('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.deepEqual(response.headers.names().sort(), ['Content-Length', 'Date', 'X-Request-Id']);
  });

  await proxied.test("carries one Date, the app's Server and no mark of uWebSockets", async (run) => {
    const head = ['Date: Tue, 15 Nov 1994 08:12:31 GMT', 'Server: scripted/1', 'X-Powered-By: tests'];
    const { headers } = await run.ask(respond('', { head }));
    assert.match(headers.get('date')!, /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    assert.equal(headers.get('server'), 'scripted/1');
    assert.equal(headers.get('x-powered-by'), 'tests');
    assert.equal(headers.get('uwebsockets'), undefined);
  });

  await proxied.test('does not invent a Server', async (run) => {
    assert.equal((await run.ask(respond(''))).headers.get('server'), undefined);
  });

  await proxied.test('leaves the Via of the app as it is, and adds none', async (run) => {
    const vias = ['1.1 app', '2 cache'];
    const response = await run.ask(respond('', { head: vias.map((via) => `Via: ${via}`) }));
    assert.deepEqual(response.headers.all('via'), vias);
    assert.equal((await run.ask(respond(''))).headers.get('via'), undefined);
  });

  await proxied.test('drops what concerns the connection to the app only', async (run) => {
    const head = [
      'Connection: keep-alive, X-Hop, x-second',
      'Keep-Alive: timeout=5, max=100',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'Trailer: X-Checksum',
      'Upgrade: h2c',
      'X-Hop: gone',
      'X-Second: gone',
      'X-Stays: here',
    ];
    const { headers } = await run.ask(respond('', { head }));
    assert.deepEqual(
      headers.names().filter((name) => !ADDED.includes(name)),
      ['X-Stays'],
    );
  });

  await proxied.test('drops fields that a second Connection line names, after an empty one', async (run) => {
    const { headers } = await run.ask(respond('', { head: ['X-Hop: gone', 'Connection:', 'Connection: ,X-HOP ,'] }));
    assert.equal(headers.get('x-hop'), undefined);
    assert.equal(headers.get('connection'), undefined);
  });

  await proxied.test('keeps the framing when Connection names it', async (run) => {
    const response = await run.ask(respond('five5', { head: ['Connection: Content-Length, close'] }));
    assert.equal(response.framing, 'length');
    assert.equal(response.body.toString(), 'five5');
  });

  await proxied.test('hands on the Upgrade of a 426, with the Connection that it needs', async (run) => {
    const head = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
    const response = await run.ask(respond('no', { status: '426 Upgrade Required', head }));
    assert.equal(response.status, 426);
    assert.equal(response.headers.get('upgrade'), 'websocket');
    assert.equal(response.headers.get('connection')?.toLowerCase(), 'upgrade');
    assert.equal(response.headers.get('sec-websocket-version'), '13');
  });

  for (const status of ['299 Weird reason', '200 ', '404 Not Here', '418 ', '599 ~', '600 x', '999 Odd', '500 a\tb']) {
    await proxied.test(`hands on the status line "${status}" and the fields behind it`, async (run) => {
      const response = await run.ask(respond('x', { status, head: ['X-A: 1'] }));
      assert.equal(response.statusLine, `HTTP/1.1 ${status}`);
      assert.equal(response.headers.get('x-a'), '1');
    });
  }

  await proxied.test('takes a status line without a reason and without the blank before it', async (run) => {
    const response = await run.ask('HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n');
    assert.equal(response.statusLine, 'HTTP/1.1 404 ');
  });

  const refusedLines: readonly [string, string][] = [
    ['a status below 100', 'HTTP/1.1 099 Low'],
    ['a status that is not a number', 'HTTP/1.1 20x OK'],
    ['a status of two digits', 'HTTP/1.1 20 OK'],
    ['a status of four digits', 'HTTP/1.1 2000 OK'],
    ['a signed status', 'HTTP/1.1 -20 OK'],
    ['no status', 'HTTP/1.1 OK'],
    ['an empty status line', ''],
    ['two blanks before the status', 'HTTP/1.1  200 OK'],
    ['a tab before the status', 'HTTP/1.1\t200 OK'],
    ['a reason glued to the status', 'HTTP/1.1 200OK'],
    ['a control byte in the reason', 'HTTP/1.1 200 O\x01K'],
    ['a bare CR in the reason', 'HTTP/1.1 200 O\rK'],
    ['another version', 'HTTP/2 200 OK'],
    ['a version that is not there yet', 'HTTP/1.2 200 OK'],
    ['a version with two digits', 'HTTP/1.10 200 OK'],
    ['the protocol in lower case', 'http/1.1 200 OK'],
    ['another protocol', 'ICY 200 OK'],
  ];
  for (const [what, line] of refusedLines) {
    await proxied.test(`answers 502 for ${what}`, async (run) => {
      assertErrorAnswer(await run.ask(`${line}\r\nContent-Length: 0\r\n\r\n`), 502);
    });
  }

  const refusedFields: readonly [string, string][] = [
    ['a field with an empty name', ': x'],
    ['a line without a colon', 'X-No-Colon'],
    ['a blank before the colon', 'X-A : 1'],
    ['a blank in a name', 'X A: 1'],
    ['a name outside ASCII', 'X-\xe4: 1'],
    ['a name with a separator', 'X(A): 1'],
    ['a folded line', 'X-A: 1\r\n  folded'],
    ['a first line that begins with a blank', ' X-A: 1'],
    ['NUL in a value', 'X-A: 1\x002'],
    ['a bare CR in a value', 'X-A: 1\r2'],
    ['a bare LF that ends a line', 'X-A: 1\nX-B: 2'],
    ['0x01 in a value', 'X-A: \x01'],
    ['DEL in a value', 'X-A: \x7f'],
  ];
  for (const [what, line] of refusedFields) {
    await proxied.test(`answers 502 for ${what}, and uses the connection no more`, async (run) => {
      assertErrorAnswer(await run.ask(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${line}\r\n\r\n`), 502);
      await run.app.accepted[0]!.closed;
    });
  }

  for (const kib of [4, 32, 200]) {
    await proxied.test(`hands on a head of ${kib} KiB, in one field and in many`, async (run) => {
      const value = 'v'.repeat(kib * 1024);
      assert.equal((await run.ask(respond('', { head: [`X-Long: ${value}`] }))).headers.get('x-long'), value);
      const lines = Array.from({ length: kib * 8 }, (_, index) => `X-${index}: ${'w'.repeat(118)}`);
      const { headers } = await run.ask(respond('', { head: lines }));
      assert.equal(headers.list.filter(([, text]) => text === 'w'.repeat(118)).length, kib * 8);
    });
  }

  await proxied.test('answers 502 when the head never ends, and lets the app go', async (run) => {
    const before = run.uwsrp.residentBytes();
    let sentBytes = 0;
    await run.script(async (connection) => {
      await connection.readRequest();
      const endless = `X-More: ${'x'.repeat(16_374)}\r\n`;
      connection.send('HTTP/1.1 200 OK\r\n');
      for (; sentBytes < 64 * 1024 * 1024 && !connection.socket.destroyed; sentBytes += endless.length) {
        await connection.sendAndFlush(endless).catch(() => {});
      }
    });
    const client = await run.send();
    assertErrorAnswer(await client.readResponse(), 502);
    await run.app.accepted[0]!.closed;
    assert.ok(sentBytes < 32 * 1024 * 1024, `the app could send ${sentBytes} bytes of head`);
    assert.ok(run.uwsrp.residentBytes() - before < 32 * 1024 * 1024, 'memory grew by 32 MB');
  });

  await proxied.test('reads a head that comes byte by byte', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      for (const char of respond('body', { status: '201 Created', head: ['X-A: 1'] })) {
        await connection.sendAndFlush(char);
      }
    });
    const response = await (await run.send(GET)).readResponse();
    assert.equal(response.status, 201);
    assert.equal(response.headers.get('x-a'), '1');
    assert.equal(response.body.toString(), 'body');
  });
});
