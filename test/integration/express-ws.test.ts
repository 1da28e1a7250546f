import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { keepAliveAgent, request } from '../helpers/http.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, Refused } from '../helpers/websocket.ts';

const MIB = 1024 * 1024;
/** What 100 MiB and more in large messages may cost the proxy. */
const MAX_GROWTH = 32 * MIB;

async function start(t: TestContext, env: Record<string, string> = {}): Promise<Uwsrp> {
  return startUwsrp(t, { args: ['node', 'apps/express-ws.js'], env });
}

function url(uwsrp: Uwsrp, path: string): string {
  return `ws://127.0.0.1:${uwsrp.port}${path}`;
}

test('a WebSocket as the very first request after boot', async (t) => {
  const uwsrp = await start(t);
  const socket = await openWebSocket(t, url(uwsrp, '/echo'));
  assert.equal((await socket.exchange('first')).text, 'first');
});

test('an Express app behind the proxy', async (t) => {
  const uwsrp = await start(t);

  await t.test('serves pages, JSON and redirects on one kept connection', async (t) => {
    const agent = keepAliveAgent();
    t.after(() => agent.destroy());
    const page = await request(uwsrp.port, { agent });
    assert.equal(page.text, '<h1>Express</h1>');
    assert.equal(page.headers['x-powered-by'], 'Express');
    const body = JSON.stringify({ text: 'grüße'.repeat(1000) });
    const headers = { 'Content-Type': 'application/json' };
    const posted = await request(uwsrp.port, { agent, method: 'POST', path: '/json', headers, body });
    assert.deepEqual(JSON.parse(posted.text), { got: JSON.parse(body) });
    const redirect = await request(uwsrp.port, { agent, path: '/redirect' });
    assert.equal(redirect.status, 302);
    assert.equal(redirect.headers.location, '/request');
  });

  await t.test('answers 304 to the ETag that it gave', async () => {
    const { headers } = await request(uwsrp.port);
    assert.ok(headers.etag);
    const again = await request(uwsrp.port, { headers: { 'If-None-Match': headers.etag } });
    assert.equal(again.status, 304);
    assert.equal(again.body.length, 0);
  });

  await t.test('shows its own error page', async () => {
    const { status, text } = await request(uwsrp.port, { path: '/crash' });
    assert.equal(status, 500);
    assert.match(text, /thrown by a route/);
  });

  await t.test('sees the client and https as the router in front tells them', async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https', Host: 'shop.example' };
    const seen = JSON.parse((await request(uwsrp.port, { path: '/request?a=1', headers })).text);
    assert.equal(seen.protocol, 'https');
    assert.equal(seen.secure, true);
    assert.equal(seen.hostname, 'shop.example');
    assert.equal(seen.url, '/request?a=1');
  });
});

test('"trust proxy" set to 1 gives the client on a platform', async (t) => {
  const uwsrp = await start(t, { RENDER: 'true' });
  const headers = { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' };
  const seen = JSON.parse((await request(uwsrp.port, { path: '/request', headers })).text);
  assert.equal(seen.ip, '203.0.113.9');
});

test('messages pass both ways unchanged', async (t) => {
  const uwsrp = await start(t);

  await t.test('text, binary, empty ones, and what looks like neither', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/echo'));
    for (const data of ['hello', '', 'grüße, 你好 👋', '\0\x01\x7f', Buffer.from([0, 255, 128]), Buffer.alloc(0)]) {
      const echo = await socket.exchange(data);
      assert.equal(echo.isBinary, typeof data !== 'string');
      assert.deepEqual(echo.data, Buffer.from(data));
    }
  });

  await t.test('every size around the steps of the frame header, and up to the limit', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/echo'));
    for (const size of [125, 126, 127, 65_535, 65_536, 65_537, MIB, 16 * MIB]) {
      const data = Buffer.alloc(size, size % 251);
      const echo = await socket.exchange(data, 20_000);
      assert.ok(echo.data.equals(data), `${size} bytes came back changed`);
    }
  });

  await t.test('two thousand numbered messages of mixed sizes and types keep their order', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/echo'));
    const count = 2000;
    for (let number = 0; number < count; number++) {
      const text = `${number}:${'x'.repeat((number * 37) % 3000)}`;
      socket.send(number % 3 === 0 ? Buffer.from(text) : text);
    }
    for (let number = 0; number < count; number++) {
      const { text, isBinary } = await socket.nextMessage(20_000);
      assert.equal(text, `${number}:${'x'.repeat((number * 37) % 3000)}`);
      assert.equal(isBinary, number % 3 === 0);
    }
  });

  await t.test('fifty connections at once do not mix', async (t) => {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => openWebSocket(t, url(uwsrp, '/echo'))));
    const echoes = await Promise.all(sockets.map((socket, index) => socket.exchange(`number ${index}`)));
    assert.deepEqual(
      echoes.map(({ text }) => text),
      sockets.map((_, index) => `number ${index}`),
    );
  });
});

test('the opening handshake is that of the app', async (t) => {
  const uwsrp = await start(t);

  await t.test('path, query, Origin, Cookie, Authorization and the rest reach it', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/hello/x?a=1&b=%20&c'), {
      origin: 'https://a.example',
      headers: { Cookie: 'a=1; b=2', Authorization: 'Bearer x', 'User-Agent': 'test', 'X-Custom': 'caf\xe9s' },
    });
    const hello = JSON.parse((await socket.nextMessage()).text);
    assert.equal(hello.url, '/hello/x?a=1&b=%20&c');
    const fields = new Map<string, string>();
    for (let at = 0; at < hello.rawHeaders.length; at += 2) {
      const name = hello.rawHeaders[at].toLowerCase();
      assert.ok(!fields.has(name), `${name} is there twice`);
      fields.set(name, hello.rawHeaders[at + 1]);
    }
    assert.equal(fields.get('origin'), 'https://a.example');
    assert.equal(fields.get('cookie'), 'a=1; b=2');
    assert.equal(fields.get('authorization'), 'Bearer x');
    assert.equal(fields.get('user-agent'), 'test');
    assert.equal(fields.get('x-custom'), 'caf\xe9s');
    assert.equal(fields.get('x-forwarded-for'), '127.0.0.1');
    assert.equal(fields.get('host'), `127.0.0.1:${uwsrp.port}`);
  });

  await t.test('its cookies and fields come back with the 101, ours once', async (t) => {
    const { upgrade } = await openWebSocket(t, url(uwsrp, '/echo'));
    assert.deepEqual(upgrade.headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(upgrade.headers['x-custom'], 'from the app');
    const names = upgrade.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    for (const name of ['upgrade', 'connection', 'sec-websocket-accept']) {
      assert.equal(names.filter((each) => each === name).length, 1, name);
    }
    assert.ok(!names.includes('sec-websocket-extensions'));
  });

  await t.test('it chooses the subprotocol, or none', async (t) => {
    assert.equal((await openWebSocket(t, url(uwsrp, '/echo'), { protocols: ['a', 'b'] })).socket.protocol, 'b');
    assert.equal((await openWebSocket(t, url(uwsrp, '/echo'))).socket.protocol, '');
  });

  await t.test('a client that offers compression is served, with or without', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/echo'), { perMessageDeflate: true });
    assert.equal((await socket.exchange('x'.repeat(5000))).text, 'x'.repeat(5000));
  });

  for (const status of [401, 503]) {
    await t.test(`a refusal with ${status} comes back whole`, async (t) => {
      const refused = await openWebSocket(t, url(uwsrp, `/refuse/${status}`)).catch((error: unknown) => error);
      assert.ok(refused instanceof Refused, String(refused));
      assert.equal(refused.status, status);
      assert.equal(refused.headers['www-authenticate'], 'Basic realm="a"');
      assert.equal(refused.headers['x-reason'], 'test');
      assert.equal(refused.body, 'no entry\r\n');
    });
  }
});

test('closing', async (t) => {
  const uwsrp = await start(t);
  const codes = [1000, 1001, 1008, 1011, 4000, 4999];

  await t.test('the code of the app reaches the client', async (t) => {
    for (const code of codes) {
      const socket = await openWebSocket(t, url(uwsrp, `/close/${code}`));
      socket.send('now');
      assert.deepEqual(await socket.closed, { code, reason: 'said the app' });
    }
  });

  await t.test('the code of the client reaches the app', async (t) => {
    for (const code of codes) {
      const socket = await openWebSocket(t, url(uwsrp, `/echo/${code}`));
      const reason = 'ü'.repeat(61);
      await socket.close(code, reason);
      await uwsrp.waitForOutput(`websocket closed /echo/${code} ${code} ${reason}`);
    }
  });

  await t.test('a close without a code stays without one', async (t) => {
    const fromApp = await openWebSocket(t, url(uwsrp, '/close'));
    fromApp.send('now');
    assert.equal((await fromApp.closed).code, 1005);
    const fromClient = await openWebSocket(t, url(uwsrp, '/echo/bare'));
    await fromClient.close();
    await uwsrp.waitForOutput('websocket closed /echo/bare 1005');
  });

  await t.test('a client that vanishes ends the app side', async (t) => {
    const { socket } = await openWebSocket(t, url(uwsrp, '/echo/vanish'));
    socket.terminate();
    await uwsrp.waitForOutput(/websocket closed \/echo\/vanish 10\d\d/);
  });

  await t.test('an app that drops the connection ends the client side', async (t) => {
    const socket = await openWebSocket(t, url(uwsrp, '/terminate'));
    socket.send('now');
    assert.ok([1006, 1011, 1014].includes((await socket.closed).code));
  });

  await t.test('a hundred connections come and go', async (t) => {
    for (let round = 0; round < 100; round++) {
      const socket = await openWebSocket(t, url(uwsrp, '/echo'));
      assert.equal((await socket.close(1000)).code, 1000);
    }
  });
});

test('SIGTERM closes WebSockets with 1001 on both sides before the app stops', async (t) => {
  const uwsrp = await start(t);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openWebSocket(t, url(uwsrp, '/echo'))));
  const exit = await uwsrp.stop();
  for (const socket of sockets) assert.equal((await socket.closed).code, 1001);
  assert.equal(uwsrp.stdout.match(/websocket closed \/echo 1001/g)?.length, 20);
  assert.deepEqual(exit, { code: 0, signal: null });
});

test('a crash of the app closes every WebSocket', async (t) => {
  const uwsrp = await start(t);
  const sockets = await Promise.all(Array.from({ length: 100 }, () => openWebSocket(t, url(uwsrp, '/echo'))));
  // In a container tini and uwsrp have the command among their words, and are not to be killed with it.
  const app = uwsrp.otherProcesses().filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('node\0'));
  assert.equal(app.length, 1);
  process.kill(app[0]!, 'SIGKILL');
  await Promise.all(sockets.map((socket) => socket.closed));
  assert.equal((await uwsrp.exited).code, 137);
});

/** Reads numbered messages of 64 KiB, with a pause behind every ten where that is asked for, and gives the peak memory. */
async function readFlood(t: TestContext, uwsrp: Uwsrp, count: number, pauseMs: number): Promise<number> {
  const client = await openWebSocket(t, url(uwsrp, `/flood/${count}`));
  let peak = 0;
  for (let number = 0; number < count; number++) {
    const { data } = await client.nextMessage(20_000);
    assert.equal(data.readUInt32BE(), number);
    peak = Math.max(peak, uwsrp.residentBytes());
    if (pauseMs > 0 && number % 10 === 0) {
      client.socket.pause();
      await delay(pauseMs);
      client.socket.resume();
    }
  }
  return peak;
}

test('a slow reader holds up the app and not the memory', async (t) => {
  const uwsrp = await start(t);
  await readFlood(t, uwsrp, 200, 0);
  const before = uwsrp.residentBytes();
  const peak = await readFlood(t, uwsrp, 2400, 2);
  assert.ok(peak - before <= MAX_GROWTH, `grew by ${Math.round((peak - before) / MIB)} MiB`);
});

test('a long upload over a WebSocket arrives whole, in bounded memory', async (t) => {
  const uwsrp = await start(t);
  const client = await openWebSocket(t, url(uwsrp, '/count'));
  const message = Buffer.alloc(256 * 1024, 'piece');
  let before = 0;
  let peak = 0;
  for (let sent = 0; sent < 400; sent++) {
    await new Promise<void>((resolve) => client.socket.send(message, () => resolve()));
    if (sent === 40) before = uwsrp.residentBytes();
    peak = Math.max(peak, uwsrp.residentBytes());
  }
  assert.equal((await client.exchange('total?', 20_000)).text, String(400 * message.length));
  assert.ok(peak - before <= MAX_GROWTH, `grew by ${Math.round((peak - before) / MIB)} MiB`);
});
