import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptFor } from '../../src/upstream/websocket-handshake.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { respond, type ScriptedConnection, startScriptedApp } from '../helpers/scripted-app.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

/** Every secret begins so, and then says where it was. */
const SECRET = 'hush';

const CREDENTIALS = [
  `Authorization: Bearer ${SECRET}-authorization`,
  `Proxy-Authorization: Basic ${SECRET}-proxy-authorization`,
  `Cookie: session=${SECRET}-cookie; \xe4=${SECRET}-latin1-cookie`,
  `Cookie: second=${SECRET}-second-cookie`,
  `X-Api-Key: ${SECRET}-api-key`,
  `Referer: https://a.example/?token=${SECRET}-referer`,
  `Forwarded: for=${SECRET}-forwarded`,
  `X-Forwarded-For: ${SECRET}-forwarded-for`,
  `X-Forwarded-Host: ${SECRET}-forwarded-host`,
  `X-Real-IP: ${SECRET}-real-ip`,
  `X-Request-Id: ${SECRET} unsafe-id`,
  `X-Edge-IP: ${SECRET}-client-ip`,
];

const head = (method: string, path: string, ...lines: string[]) =>
  `${method} ${path}?token=${SECRET}-query&${SECRET}-name HTTP/1.1\r\nHost: a.example\r\n${[...CREDENTIALS, ...lines]
    .map((line) => `${line}\r\n`)
    .join('')}\r\n`;

const SET_COOKIE = [
  `Set-Cookie: a=${SECRET}-set-cookie`,
  `Location: /?token=${SECRET}-location`,
  `WWW-Authenticate: Digest nonce="${SECRET}-nonce"`,
];

/** What the app does with a path; the rest is answered with cookies and a body. */
const APP: Record<string, (connection: ScriptedConnection, key: string) => void> = {
  '/not-http': (connection) => connection.end(`${SECRET}-banner\r\n\r\n`),
  '/bad-field': (connection) => connection.send(`HTTP/1.1 200 OK\r\nSet-Cookie: ${SECRET}-bad-cookie\x01\r\n\r\n`),
  '/bad-status': (connection) => connection.send(`HTTP/1.1 ${SECRET}-status OK\r\n\r\n`),
  '/bad-length': (connection) => connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SECRET}-length\r\n\r\n`),
  '/bad-chunk': (connection) =>
    connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n${SECRET}-chunk\r\n`),
  '/cut': (connection) => connection.end(`HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n${SECRET}-cut-body`),
  '/silent': () => {},
  '/left': () => {},
  '/ws': (connection, key) =>
    connection.send(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${SET_COOKIE[0]}\r\n` +
        `Sec-WebSocket-Protocol: ${SECRET}-protocol\r\nSec-WebSocket-Accept: ${acceptFor(key)}\r\n\r\n`,
    ),
  '/ws-bad': (connection) =>
    connection.send(`HTTP/1.1 101 ${SECRET}-reason\r\nSec-WebSocket-Accept: ${SECRET}-accept\r\n\r\n`),
};

const HANDSHAKE = [
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  `Sec-WebSocket-Protocol: ${SECRET}-protocol`,
];

/** Ways for a request to end: what is sent, and the status that comes back. */
const LOGGED: readonly [path: string, bytes: string, status: number][] = [
  ['/ok', head('GET', '/ok'), 200],
  ['/ok-head', head('HEAD', '/ok-head'), 200],
  ['/upload', `${head('POST', '/upload', 'Content-Length: 9')}${SECRET}-body`, 200],
  ['/not-http', head('GET', '/not-http'), 502],
  ['/bad-field', head('GET', '/bad-field'), 502],
  ['/bad-status', head('GET', '/bad-status'), 502],
  ['/bad-length', head('GET', '/bad-length'), 502],
  ['/bad-chunk', head('GET', '/bad-chunk'), 502],
  ['/cut', head('GET', '/cut'), 200],
  ['/silent', head('GET', '/silent'), 504],
  ['/coding', head('GET', '/coding', `Transfer-Encoding: ${SECRET}-coding`), 400],
  ['/length', head('POST', '/length', 'Content-Length: 4', 'Content-Length: 5'), 400],
  ['/expect', head('GET', '/expect', `Expect: ${SECRET}-expectation`), 417],
  ['/large', head('POST', '/large', 'Content-Length: 5000'), 413],
  ['/host', head('GET', '/host').replace('a.example', `user:${SECRET}-host@a.example`), 400],
  ['/redirected', head('GET', '/redirected', 'X-Forwarded-Proto: http'), 301],
  ['/ws', head('GET', '/ws', ...HANDSHAKE), 101],
  ['/ws-bad', head('GET', '/ws-bad', ...HANDSHAKE), 502],
  ['/ws-refused', head('GET', '/ws-refused', ...HANDSHAKE), 200],
  ['/ws-version', head('GET', '/ws-version', ...HANDSHAKE).replace('Version: 13', 'Version: 8'), 426],
];

/** What uWebSockets.js refuses, or what has its secret in the path, before the line that the test waits for. */
const OTHERS = [
  head('GET', `http://user:${SECRET}-user@a.example/absolute`),
  head('GET', '/control', `X-A: ${SECRET}-control\x01`),
  `GET /?token=${SECRET}-no-version\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: ${SECRET}-half`,
];

test('no secret of a request or a response is ever logged, at whatever level', async (t) => {
  const app = await startScriptedApp(t, async (connection) => {
    while (await connection.hasMore(60_000)) {
      const { target, headers } = await connection.readRequest();
      const act = APP[target.split('?')[0]!];
      if (act === undefined) connection.send(respond(`${SECRET}-body`, { head: SET_COOKIE }));
      else act(connection, headers.get('sec-websocket-key') ?? '');
    }
  });
  const uwsrp = await startUwsrp(t, {
    appPort: app.port,
    env: {
      UWSRP_LOG_LEVEL: 'trace',
      UWSRP_ACCESS_LOG: 'all',
      UWSRP_MAX_BODY_SIZE: '1kb',
      UWSRP_RESPONSE_TIMEOUT: '500ms',
      UWSRP_CLIENT_IP_HEADER: 'X-Edge-IP',
      UWSRP_FORCE_SSL: 'on',
    },
  });
  for (const bytes of OTHERS) (await connectRaw(uwsrp.port, t)).send(bytes);
  for (const [path, bytes, status] of LOGGED) {
    const client = await connectRaw(uwsrp.port, t);
    client.send(bytes);
    assert.equal((await client.readResponseHead(10_000)).status, status, path);
    client.destroy();
    await uwsrp.waitForLog((line) => line.path === path, `of ${path}`);
  }
  const { requests } = app;
  const left = await connectRaw(uwsrp.port, t);
  left.send(head('GET', '/left'));
  await app.until((now) => now.requests > requests, 'the request that is given up');
  left.destroy();
  await uwsrp.waitForLog((line) => line.path === '/left' && line.status === 499, 'of the client that left');

  await uwsrp.stop();
  const leaks = uwsrp
    .output()
    .split('\n')
    .filter((line) => line.includes(SECRET));
  assert.deepEqual(leaks, []);
});
