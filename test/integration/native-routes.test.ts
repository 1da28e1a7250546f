import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { type NativeRun, startNative } from '../helpers/native.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { settled } from '../helpers/settled.ts';
import { openWebSocket, type Refused } from '../helpers/websocket.ts';
import { silent } from '../helpers/websocket-app.ts';

/** Native WebSockets answer with their pattern, HTTP routes too; the app behind echoes, and answers `http`. */
const PATTERNS = `
  const says = (name) => ({ message: (ws, message) => ws.send(name + ' ' + text(message)) });
  const ws = (...patterns) => patterns.forEach((pattern) => app.ws(pattern, says(pattern)));
  const http = (method, ...patterns) =>
    patterns.forEach((pattern) => app[method](pattern, (res) => { res.end(method + ' ' + pattern); }));
`;

async function answers(t: Parameters<typeof openWebSocket>[0], { url, uwsrp }: NativeRun, paths: readonly string[]) {
  const found: Record<string, string> = {};
  for (const path of paths) {
    const socket = await openWebSocket(t, url(path));
    found[`ws ${path}`] = (await socket.exchange('hi')).text;
    await socket.close();
    found[`GET ${path}`] = (await request(uwsrp.port, { path })).text;
    found[`POST ${path}`] = (await request(uwsrp.port, { path, method: 'POST', body: 'x' })).text;
  }
  return found;
}

test('the more exact of two native WebSocket patterns wins, and what none matches is relayed', async (t) => {
  const run = await startNative(t, `${PATTERNS} ws('/chat/:id', '/chat');`);
  assert.deepEqual(await answers(t, run, ['/chat', '/chat/7', '/chat/7/more', '/']), {
    'ws /chat': '/chat hi',
    'GET /chat': 'http',
    'POST /chat': 'http',
    'ws /chat/7': '/chat/:id hi',
    'GET /chat/7': 'http',
    'POST /chat/7': 'http',
    'ws /chat/7/more': 'hi',
    'GET /chat/7/more': 'http',
    'POST /chat/7/more': 'http',
    'ws /': 'hi',
    'GET /': 'http',
    'POST /': 'http',
  });
});

test('a native WebSocket for every path leaves HTTP to the app', async (t) => {
  const run = await startNative(t, `${PATTERNS} ws('/*', '/chat');`);
  assert.deepEqual(await answers(t, run, ['/chat', '/other']), {
    'ws /chat': '/chat hi',
    'GET /chat': 'http',
    'POST /chat': 'http',
    'ws /other': '/* hi',
    'GET /other': 'http',
    'POST /other': 'http',
  });
});

test('native HTTP routes for every path leave WebSockets to the app', async (t) => {
  const run = await startNative(t, `${PATTERNS} http('any', '/*', '/chat'); http('get', '/*', '/chat/:id', '/chat');`);
  assert.deepEqual(await answers(t, run, ['/chat', '/chat/7', '/other']), {
    'ws /chat': 'hi',
    'GET /chat': 'get /chat',
    'POST /chat': 'any /chat',
    'ws /chat/7': 'hi',
    'GET /chat/7': 'get /chat/:id',
    'POST /chat/7': 'any /*',
    'ws /other': 'hi',
    'GET /other': 'get /*',
    'POST /other': 'any /*',
  });
});

test('a path is matched as it was sent', async (t) => {
  const { uwsrp } = await startNative(t, `${PATTERNS} http('any', '/chat');`);
  for (const path of ['/Chat', '/chat/', '/%63hat', '//chat', '/x/../chat', '/chat;x']) {
    assert.equal((await request(uwsrp.port, { path })).text, 'http', path);
  }
  assert.equal((await request(uwsrp.port, { path: '/chat?x' })).text, 'any /chat');
});

test('a slow app still holds back a client that passed native HTTP routes', async (t) => {
  const body = `${PATTERNS} http('any', '/*', '/chat'); http('get', '/*', '/chat'); ws('/native');`;
  // Two of the largest messages, but no less than 4 MiB, may wait in the proxy; then it gives up.
  const env = { UWSRP_WS_MAX_MESSAGE: '1mb' };
  const { url, app } = await startNative(t, body, { env, onOpen: silent });
  const client = await openWebSocket(t, url('/chat'));
  const { socket } = await app.next();
  socket.pause();
  const total = 64;
  for (let index = 0; index < total; index += 1) client.send(Buffer.alloc(1024 * 1024));
  await settled(() => client.socket.bufferedAmount);
  assert.ok(client.socket.bufferedAmount > 0, 'the client was not held back');
  let received = 0;
  const all = new Promise<void>((resolve) => {
    socket.on('message', () => {
      received += 1;
      if (received === total) resolve();
    });
  });
  socket.resume();
  await Promise.race([all, client.closed.then(({ code }) => assert.fail(`closed with ${code}`))]);
});

test('a handler that yields leaves the request to the next route, in the end to the app', async (t) => {
  const run = await startNative(
    t,
    `
    app.get('/some', (res, req) => {
      if (req.getQuery('mine') === undefined) req.setYield(true);
      else res.end('native ' + req.getMethod());
    });
    app.any('/*', (res, req) => { req.getMethod(); req.setYield(true); });
    app.ws('/some', {
      upgrade(res, req, context) {
        if (req.getQuery('mine') === undefined) return req.setYield(true);
        const [key, protocol, extensions] = ['key', 'protocol', 'extensions'].map((name) => req.getHeader('sec-websocket-' + name));
        res.upgrade({}, key, protocol, extensions, context);
      },
      message: (ws, message) => ws.send('native ' + text(message)),
    });`,
  );
  assert.equal((await request(run.uwsrp.port, { path: '/some' })).text, 'http');
  assert.equal((await request(run.uwsrp.port, { path: '/some?mine=1' })).text, 'native get');
  assert.equal((await (await openWebSocket(t, run.url('/some'))).exchange('hi')).text, 'hi');
  assert.equal((await (await openWebSocket(t, run.url('/some?mine=1'))).exchange('hi')).text, 'native hi');
});

test('bodies, parameters, user data and subprotocols are those of uWebSockets.js', async (t) => {
  const run = await startNative(
    t,
    `
    app.post('/sum/:name', (res, req) => {
      const name = req.getParameter(0);
      let length = 0;
      res.onAborted(() => {});
      res.onData((chunk, isLast) => {
        length += chunk.byteLength;
        if (isLast) res.cork(() => { res.writeStatus('201 Created').writeHeader('X-Name', name).end(String(length)); });
      });
    });
    app.get('/late', async (res) => {
      res.onAborted(() => {});
      await new Promise((resolve) => setImmediate(resolve));
      res.cork(() => { res.end('late'); });
    });
    app.ws('/data/:name', {
      async upgrade(res, req, context) {
        let isGone = false;
        res.onAborted(() => { isGone = true; });
        const name = req.getParameter(0);
        const key = req.getHeader('sec-websocket-key');
        await new Promise((resolve) => setImmediate(resolve));
        if (!isGone) res.cork(() => { res.upgrade({ name }, key, 'two', '', context); });
      },
      open: (ws) => { ws.send(ws.getUserData().name); },
    });`,
  );
  const body = Buffer.alloc(300_000, 1);
  const posted = await request(run.uwsrp.port, { method: 'POST', path: '/sum/x', body });
  assert.deepEqual([posted.status, posted.headers['x-name'], posted.text], [201, 'x', '300000']);
  assert.equal((await request(run.uwsrp.port, { path: '/late' })).text, 'late');
  const socket = await openWebSocket(t, run.url('/data/me'), { protocols: ['one', 'two'] });
  assert.equal(socket.socket.protocol, 'two');
  assert.equal((await socket.nextMessage()).text, 'me');
});

test('rules that answer for themselves come before native routes', async (t) => {
  const env = { UWSRP_FORCE_SSL: 'on', UWSRP_HEALTH_PATH: '/up', UWSRP_MAX_BODY_SIZE: '10' };
  const body = `${PATTERNS} http('any', '/*'); ws('/*');`;
  const { uwsrp, url } = await startNative(t, body, { env });
  const overHttp = { 'X-Forwarded-Proto': 'http', Host: 'a.example' };

  await t.test('redirects to https', async () => {
    const { status, headers } = await request(uwsrp.port, { path: '/x?y', headers: overHttp });
    assert.deepEqual([status, headers.location], [301, 'https://a.example/x?y']);
    await assert.rejects(openWebSocket(t, url('/x'), { headers: overHttp }), (error: Refused) => error.status === 301);
  });

  await t.test('answers the health path', async () => {
    assert.equal((await request(uwsrp.port, { path: '/up' })).text.trim(), 'ok');
  });

  await t.test('refuses what is malformed or too large', async () => {
    const client = await connectRaw(uwsrp.port, t);
    client.send('GET / HTTP/1.1\r\nHost: a b\r\n\r\n');
    assert.equal((await client.readResponse()).status, 400);
    assert.equal((await request(uwsrp.port, { method: 'POST', body: 'more than ten' })).status, 413);
    const headers = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '12' };
    assert.equal((await request(uwsrp.port, { headers })).status, 426);
  });

  await t.test('lets through what none of them answers', async () => {
    assert.equal((await request(uwsrp.port, { path: '/x' })).text, 'any /*');
    assert.equal((await (await openWebSocket(t, url('/x'))).exchange('hi')).text, '/* hi');
  });
});

test('the context has the log, the configuration, the address of the client, and uWebSockets.js', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    context.log.info({ shared: context.uws.SHARED_COMPRESSOR, trust: context.config.trustProxy.kind }, 'from the module');
    app.get('/who', (res, req) => { res.end(context.clientAddress(res, req)); });`,
  );
  const line = await uwsrp.waitForLog(({ msg }) => msg === 'from the module', 'of the module');
  assert.equal(line.trust, 'auto');
  assert.equal(typeof line.shared, 'number');
  const headers = { 'X-Forwarded-For': '203.0.113.9' };
  assert.equal((await request(uwsrp.port, { path: '/who', headers })).text, '203.0.113.9');
});

test('requests of native routes are in the access log', async (t) => {
  const env = { UWSRP_ACCESS_LOG: 'all' };
  const { uwsrp, url } = await startNative(
    t,
    `
    app.get('/short', (res) => { res.writeStatus('404 Not Found').end('twelve bytes'); });
    app.get('/never', () => {});
    app.ws('/socket', {});`,
    { env },
  );
  const lineOf = (path: string) => uwsrp.waitForLog((line) => line.path === path, `of ${path}`);
  await request(uwsrp.port, { path: '/short' });
  const { status, bytes, method } = await lineOf('/short');
  assert.deepEqual({ status, bytes, method }, { status: 404, bytes: 12, method: 'GET' });
  await openWebSocket(t, url('/socket'));
  assert.equal((await lineOf('/socket')).status, 101);
  const client = await connectRaw(uwsrp.port, t);
  client.send('GET /never HTTP/1.1\r\nHost: a\r\n\r\nGET');
  client.destroy();
  const gone = await lineOf('/never');
  assert.deepEqual([gone.status, gone.code], [499, 'CLIENT_GONE']);
});

test('native WebSockets take messages up to UWSRP_WS_MAX_MESSAGE, unless they say otherwise', async (t) => {
  const { url } = await startNative(
    t,
    `
    const echo = (ws, message, isBinary) => ws.send(String(message.byteLength));
    app.ws('/default', { message: echo });
    app.ws('/small', { message: echo, maxPayloadLength: 10 });`,
    { env: { UWSRP_WS_MAX_MESSAGE: '1mb' } },
  );
  const large = await openWebSocket(t, url('/default'));
  assert.equal((await large.exchange(Buffer.alloc(1024 * 1024))).text, String(1024 * 1024));
  large.send(Buffer.alloc(1024 * 1024 + 1));
  assert.equal((await large.closed).code, 1006);
  const small = await openWebSocket(t, url('/small'));
  small.send(Buffer.alloc(11));
  assert.equal((await small.closed).code, 1006);
});
