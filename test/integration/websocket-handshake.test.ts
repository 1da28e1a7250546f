import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BINARY, CLOSE, TEXT } from '../../src/upstream/websocket-frame.ts';
import { acceptFor } from '../../src/upstream/websocket-handshake.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedConnection, startScriptedApp } from '../helpers/scripted-app.ts';
import { openWebSocket, Refused } from '../helpers/websocket.ts';
import { echo, startWebSocketApp } from '../helpers/websocket-app.ts';
import { clientFrame, closePayload, frame } from '../helpers/websocket-frames.ts';
import { startWebSocketProxy } from '../helpers/websocket-proxy.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

function handshake(fields: readonly string[] = [], first = 'GET /chat?room=1 HTTP/1.1'): string {
  const own = ['Host: app.example', `Sec-WebSocket-Key: ${KEY}`, 'Sec-WebSocket-Version: 13'];
  const asking = ['Upgrade: websocket', 'Connection: Upgrade'].filter(
    (line) => !fields.some((field) => field.startsWith(line.split(' ')[0]!)),
  );
  return `${[first, ...own, ...asking, ...fields].join('\r\n')}\r\n\r\n`;
}

/** Reads the app's side of a handshake and gives the head of a right 101 for it, without the blank line. */
async function readHandshake(
  connection: ScriptedConnection,
): Promise<{ head: string; fields: (name: string) => string[] }> {
  const request = await connection.readRequestHead();
  const key = request.headers.get('sec-websocket-key')!;
  const head =
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${acceptFor(key)}\r\n`;
  return { head, fields: (name) => request.headers.all(name) };
}

async function startRawProxy(
  t: TestContext,
  script: (connection: ScriptedConnection, index: number) => Promise<void> | void,
  fields: readonly string[] = [],
): Promise<{
  client: RawSocket;
  app: Awaited<ReturnType<typeof startScriptedApp>>;
  proxy: Awaited<ReturnType<typeof startWebSocketProxy>>;
}> {
  const app = await startScriptedApp(t, script);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectRaw(proxy.port, t);
  client.send(handshake(fields));
  return { client, app, proxy };
}

test('the app gets path, query and fields as they are, and the fields of the hop anew', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const headers = {
    Origin: 'https://page.example',
    Cookie: 'a=1; b=2',
    Authorization: 'Bearer token',
    'User-Agent': 'test/1',
    'X-Own': 'é',
  };
  await openWebSocket(t, `${proxy.url}/a%2Fb/c;d?x=%20&y`, { headers, perMessageDeflate: true });
  const { request } = await app.next();
  assert.equal(request.url, '/a%2Fb/c;d?x=%20&y');
  assert.equal(request.headers.origin, 'https://page.example');
  assert.equal(request.headers.cookie, 'a=1; b=2');
  assert.equal(request.headers.authorization, 'Bearer token');
  assert.equal(request.headers['user-agent'], 'test/1');
  assert.equal(request.headers['sec-websocket-extensions'], undefined, 'each hop negotiates alone');
  assert.equal(request.headers['sec-websocket-version'], '13');
});

test("the app's key is not the client's, and the client's 101 answers the client's", async (t) => {
  let appKey: string[] = [];
  const { client } = await startRawProxy(t, async (connection) => {
    const { head, fields } = await readHandshake(connection);
    appKey = fields('sec-websocket-key');
    connection.send(`${head}\r\n`);
  });
  const { status, headers } = await client.readResponseHead();
  assert.equal(status, 101);
  assert.equal(headers.get('sec-websocket-accept'), acceptFor(KEY));
  assert.equal(appKey.length, 1);
  assert.notEqual(appKey[0], KEY);
});

test('the 101 brings the fields of the app: two cookies, one of its own, bytes above ASCII', async (t) => {
  const { client } = await startRawProxy(t, async (connection) => {
    const { head } = await readHandshake(connection);
    const fields =
      'Set-Cookie: a=1; Expires=Wed, 09 Jun 2032 10:18:14 GMT\r\nset-cookie: b=2\r\nX-Custom: \xe9\xff\r\n';
    connection.send(`${head}${fields}Date: Wed, 09 Jun 2032 10:18:14 GMT\r\nServer: app\r\n\r\n`);
  });
  const { status, headers } = await client.readResponseHead();
  assert.equal(status, 101);
  assert.deepEqual(headers.all('set-cookie'), ['a=1; Expires=Wed, 09 Jun 2032 10:18:14 GMT', 'b=2']);
  assert.equal(headers.get('x-custom'), '\xe9\xff');
  assert.equal(headers.get('server'), 'app');
  assert.equal(headers.all('date').length, 1);
  for (const name of ['upgrade', 'connection', 'sec-websocket-accept']) assert.equal(headers.all(name).length, 1, name);
});

test('the subprotocol is the one that the app chose among those offered, or none', async (t) => {
  for (const [offered, chosen] of [
    [['a', 'b'], 'b'],
    [['a'], 'a'],
    [['a', 'b'], false],
  ] as const) {
    const app = await startWebSocketApp(t, echo, { handleProtocols: () => chosen });
    const proxy = await startWebSocketProxy(t, app.port);
    if (chosen === false) {
      // The client of `ws` takes no protocol for an error when it offered some, as browsers do not.
      const client = await connectRaw(proxy.port, t);
      client.send(handshake([`Sec-WebSocket-Protocol: ${offered.join(', ')}`]));
      const { status, headers } = await client.readResponseHead();
      assert.deepEqual([status, headers.all('sec-websocket-protocol')], [101, []]);
    } else {
      const ws = await openWebSocket(t, proxy.url, { protocols: [...offered] });
      assert.equal(ws.socket.protocol, chosen);
      assert.equal((await app.next()).request.headers['sec-websocket-protocol'], offered.join(','));
    }
  }
});

test('without an offer there is no subprotocol on either side', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const ws = await openWebSocket(t, proxy.url);
  assert.equal(ws.upgrade.headers['sec-websocket-protocol'], undefined);
  assert.equal((await app.next()).request.headers['sec-websocket-protocol'], undefined);
});

test('handshakes written in other ways that mean the same are taken', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  for (const fields of [
    ['Upgrade: WebSocket'],
    ['Connection: keep-alive, Upgrade'],
    ['Connection: keep-alive', 'Connection: UPGRADE'],
  ]) {
    const client = await connectRaw(proxy.port, t);
    client.send(handshake(fields));
    assert.equal((await client.readResponseHead()).status, 101, fields.join());
  }
});

test('the client is answered only after the app has answered', async (t) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { client, app, proxy } = await startRawProxy(t, async (connection) => {
    const { head } = await readHandshake(connection);
    await released;
    connection.send(`${head}\r\n`);
  });
  await app.until(({ requests }) => requests === 1, 'the handshake at the app');
  assert.equal(client.receivedLength, 0);
  assert.equal(proxy.relays.pendingCount, 1);
  release();
  assert.equal((await client.readResponseHead()).status, 101);
  assert.equal(proxy.relays.pendingCount, 0);
  assert.equal(proxy.relays.openCount, 1);
});

test("frames that come along with the app's 101 are not lost", async (t) => {
  const { client } = await startRawProxy(t, async (connection) => {
    const { head } = await readHandshake(connection);
    const frames = Buffer.concat([frame(TEXT, 'first'), frame(BINARY, 'second'), frame(TEXT, 'cut').subarray(0, 3)]);
    await connection.sendAndFlush(Buffer.concat([Buffer.from(`${head}\r\n`), frames]));
    connection.send(frame(TEXT, 'cut').subarray(3));
  });
  await client.readResponseHead();
  const expected = Buffer.concat([frame(TEXT, 'first'), frame(BINARY, 'second'), frame(TEXT, 'cut')]);
  assert.deepEqual(await client.readExactly(expected.length), expected);
});

test('a close that comes along with the 101 closes the client', async (t) => {
  const { client, proxy } = await startRawProxy(t, async (connection) => {
    const { head } = await readHandshake(connection);
    connection.send(
      Buffer.concat([Buffer.from(`${head}\r\n`), frame(TEXT, 'x'), frame(CLOSE, closePayload(4001, 'no'))]),
    );
    await connection.readUntil((bytes) => (bytes.length >= 8 ? 8 : -1));
    connection.end();
  });
  await client.readResponseHead();
  const expected = Buffer.concat([frame(TEXT, 'x'), frame(CLOSE, closePayload(4001, 'no'))]);
  assert.deepEqual(await client.readToEnd(), expected);
  assert.equal(await client.closed, 'fin');
  client.end();
  await proxy.relays.whenEmpty();
});

test('a 101 that comes byte by byte, after interim answers, is read', async (t) => {
  const { client } = await startRawProxy(t, async (connection) => {
    const { head } = await readHandshake(connection);
    const answer = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head}\r\n`;
    for (const byte of answer) await connection.sendAndFlush(byte);
    connection.send(frame(TEXT, 'in'));
  });
  assert.equal((await client.readResponseHead()).status, 101);
  assert.deepEqual(await client.readExactly(4), frame(TEXT, 'in'));
});

const REFUSALS: readonly [status: string, head: readonly string[], body: string][] = [
  ['401 Unauthorized', ['WWW-Authenticate: Basic realm="x"'], 'who are you'],
  ['403 Forbidden', ['X-Why: because'], 'no'],
  ['404 Not Found', [], ''],
  ['302 Found', ['Location: /login'], 'moved'],
  ['503 Service Unavailable', ['Retry-After: 7'], 'later'],
  ['200 OK', [], 'not a WebSocket here'],
];

for (const [status, head, body] of REFUSALS) {
  test(`a refusal by the app (${status}) comes back with its status, fields and body`, async (t) => {
    const app = await startScriptedApp(
      t,
      eachRequest((_, connection) => {
        setImmediate(() => connection.end());
        return respond(body, { status, head });
      }),
    );
    const proxy = await startWebSocketProxy(t, app.port);
    await assert.rejects(openWebSocket(t, proxy.url), (error: Refused) => {
      assert.ok(error instanceof Refused, `${error}`);
      assert.equal(error.status, Number(status.slice(0, 3)));
      for (const field of head) {
        const [name, value] = field.split(': ') as [string, string];
        assert.equal(error.headers[name.toLowerCase()], value);
      }
      assert.equal(error.body, body);
      return true;
    });
    assert.equal(proxy.relays.pendingCount + proxy.relays.openCount, 0);
    await app.until(({ connections }) => connections === 0, 'no connection to the app');
  });
}

const BROKEN: readonly [what: string, answer: string | undefined, code: string][] = [
  ['closes without an answer', undefined, 'UPSTREAM_CLOSED'],
  ['answers nonsense', 'nonsense\r\n\r\n', 'UPSTREAM_INVALID'],
  ['answers half a status line', 'HTTP/1.1 10', 'UPSTREAM_CLOSED'],
  ['answers half a head', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: web', 'UPSTREAM_CLOSED'],
  [
    'answers with a wrong Sec-WebSocket-Accept',
    `HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: ${acceptFor(KEY)}\r\n\r\n`,
    'UPSTREAM_INVALID',
  ],
  ['answers with a 101 that upgrades nothing', 'HTTP/1.1 101 S\r\n\r\n', 'UPSTREAM_INVALID'],
  [
    'answers with an endless head',
    `HTTP/1.1 101 S\r\n${`X-A: ${'a'.repeat(1000)}\r\n`.repeat(80)}`,
    'UPSTREAM_INVALID',
  ],
  ['answers with an endless status line', 'x'.repeat(70_000), 'UPSTREAM_INVALID'],
];

for (const [what, answer, code] of BROKEN) {
  test(`an app that ${what} is a 502 before any 101`, async (t) => {
    const { client, app, proxy } = await startRawProxy(t, async (connection) => {
      await connection.readRequestHead();
      if (answer !== undefined) await connection.sendAndFlush(answer).catch(() => {});
      if (code === 'UPSTREAM_CLOSED') connection.end();
    });
    const response = await client.readResponse();
    assert.equal(response.status, 502);
    assert.equal(proxy.refusals[0]!.code, code);
    await app.until(({ connections }) => connections === 0, 'no connection to the app');
    assert.equal(proxy.relays.pendingCount, 0);
  });
}

test('an app that resets the connection is a 502', async (t) => {
  const { client, proxy } = await startRawProxy(t, async (connection) => {
    await connection.readRequestHead();
    connection.reset();
  });
  assert.equal((await client.readResponse()).status, 502);
  assert.equal(proxy.refusals[0]!.code, 'UPSTREAM_CLOSED');
});

test('an app that does not answer in time is a 504, and its late answer goes nowhere', async (t) => {
  const app = await startScriptedApp(t, async (connection) => {
    const { head } = await readHandshake(connection);
    await connection.closed;
    connection.send(`${head}\r\n`);
  });
  const proxy = await startWebSocketProxy(t, app.port, { handshakeTimeoutMs: 100 });
  const client = await connectRaw(proxy.port, t);
  client.send(handshake());
  assert.equal((await client.readResponse()).status, 504);
  assert.equal(proxy.refusals[0]!.code, 'UPSTREAM_TIMEOUT');
});

test('an app that is down, on a port or a unix socket, is a 502 at once', async (t) => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as { port: number };
  await new Promise<void>((resolve) => closed.close(() => resolve()));
  for (const target of [
    { kind: 'tcp', host: '127.0.0.1', port },
    { kind: 'unix', path: '/nonexistent/app.sock' },
  ] as const) {
    const proxy = await startWebSocketProxy(t, target);
    await assert.rejects(openWebSocket(t, proxy.url), (error: Refused) => error.status === 502);
    assert.equal(proxy.refusals[0]!.code, 'UPSTREAM_REFUSED');
  }
});

test('an app on a unix socket is reached', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'app.sock');
  await startScriptedApp(
    t,
    async (connection) => {
      const { head } = await readHandshake(connection);
      connection.send(`${head}\r\n`);
      connection.send(frame(TEXT, 'unix'));
    },
    { path },
  );
  const proxy = await startWebSocketProxy(t, { kind: 'unix', path });
  assert.equal((await (await openWebSocket(t, proxy.url)).nextMessage()).text, 'unix');
});

test('a client that leaves before the app has answered takes the connection to the app with it', async (t) => {
  for (const leave of ['end', 'reset'] as const) {
    const { client, app, proxy } = await startRawProxy(t, async (connection) => {
      await connection.readRequestHead();
    });
    await app.until(({ requests }) => requests === 1, 'the handshake at the app');
    client[leave]();
    await app.until(({ connections }) => connections === 0, 'no connection to the app');
    assert.equal(proxy.relays.pendingCount, 0);
    assert.deepEqual(proxy.refusals, []);
  }
});

test('500 clients that leave at any moment of the handshake harm nobody', async (t) => {
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  for (let round = 0; round < 25; round++) {
    const clients = await Promise.all(Array.from({ length: 20 }, () => connectRaw(proxy.port, t)));
    for (const [index, client] of clients.entries()) {
      client.send(handshake());
      if (index % 4 === 0) client.reset();
      else if (index % 4 === 1) setImmediate(() => client.destroy());
      else if (index % 4 === 2) void client.readExactly(1).then(() => client.reset());
      else setTimeout(() => client.end(), index / 10);
    }
    await Promise.all(clients.map(({ closed }) => closed));
    for (const client of clients) client.destroy();
  }
  await proxy.relays.whenEmpty();
  const ws = await openWebSocket(t, proxy.url);
  assert.equal((await ws.exchange('still there')).text, 'still there');
});

test('handshakes that are not valid are refused, and none reaches the app', async (t) => {
  const app = await startScriptedApp(
    t,
    eachRequest(() => respond('reached')),
  );
  const proxy = await startWebSocketProxy(t, app.port);
  const plain = 'Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
  const version = 'Sec-WebSocket-Version: 13\r\n';
  const key = `Sec-WebSocket-Key: ${KEY}\r\n`;
  const cases: readonly [what: string, request: string, status: number][] = [
    ['version 8', `GET / HTTP/1.1\r\n${plain}Sec-WebSocket-Version: 8\r\n${key}\r\n`, 426],
    ['no version', `GET / HTTP/1.1\r\n${plain}${key}\r\n`, 426],
    ['no key', `GET / HTTP/1.1\r\n${plain}${version}\r\n`, 400],
    ['a key of 23 characters', `GET / HTTP/1.1\r\n${plain}${version}Sec-WebSocket-Key: ${KEY.slice(1)}\r\n\r\n`, 400],
    [
      'a key of 24 other characters',
      `GET / HTTP/1.1\r\n${plain}${version}Sec-WebSocket-Key: ${'!'.repeat(24)}\r\n\r\n`,
      400,
    ],
    ['POST', `POST / HTTP/1.1\r\n${plain}${version}${key}Content-Length: 0\r\n\r\n`, 400],
    ['a body', `GET / HTTP/1.1\r\n${plain}${version}${key}Content-Length: 5\r\n\r\nhello`, 400],
    [
      'a chunked body',
      `GET / HTTP/1.1\r\n${plain}${version}${key}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      400,
    ],
  ];
  for (const [what, request, status] of cases) {
    const client = await connectRaw(proxy.port, t);
    client.send(request);
    const response = await client.readResponse();
    assert.equal(response.status, status, what);
    if (status === 426) assert.equal(response.headers.get('sec-websocket-version'), '13', what);
  }
  assert.equal(app.accepted.length, 0);
});

test('a request with a key that asks for no WebSocket is an HTTP request', async (t) => {
  const proxy = await startWebSocketProxy(t, 1);
  const client = await connectRaw(proxy.port, t);
  client.send(`GET / HTTP/1.1\r\nHost: x\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`);
  assert.equal((await client.readResponse()).body.toString(), 'http');
});

test('a first Connection of "close", which spoils an upgrade in uWebSockets.js, makes it an HTTP request', async (t) => {
  const proxy = await startWebSocketProxy(t, 1);
  const client = await connectRaw(proxy.port, t);
  client.send(handshake(['Connection: close', 'Connection: Upgrade']));
  assert.equal((await client.readResponse()).body.toString(), 'http');
});

test('frames glued to the handshake, which no client may send, end the connection without harm', async (t) => {
  // RFC 6455 section 4.1: the client waits for the answer. uWebSockets.js takes what follows for the next request.
  const app = await startWebSocketApp(t);
  const proxy = await startWebSocketProxy(t, app.port);
  const client = await connectRaw(proxy.port, t);
  client.send(Buffer.concat([Buffer.from(handshake()), clientFrame(TEXT, 'too early')]));
  await client.readToEnd();
  client.destroy();
  await proxy.relays.whenEmpty();
  const ws = await openWebSocket(t, proxy.url);
  assert.equal((await ws.exchange('next')).text, 'next');
});
