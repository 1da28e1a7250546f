import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { moduleFile, startNative } from '../helpers/native.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { spawnUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket, type Refused } from '../helpers/websocket.ts';

test('errors in HTTP handlers are logged, and give 500 or a cut', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    app.get('/throws', () => { throw new Error('thrown at once'); });
    app.get('/rejects', async (res) => { await null; throw new Error('rejected later'); });
    app.get('/yields', (res, req) => { req.setYield(true); throw new Error('thrown after a yield'); });
    app.get('/begun', (res) => { res.writeStatus('200 OK').write('a part'); throw new Error('thrown in the middle'); });
    app.get('/answered', (res) => { res.end('whole'); throw new Error('thrown afterwards'); });
    app.get('/corked', (res) => { res.cork(() => { throw new Error('thrown in cork'); }); });
    app.post('/data', (res) => { res.onData(() => { throw new Error('thrown in onData'); }); });
    app.post('/async-data', (res) => { res.onData(async () => { throw new Error('rejected in onData'); }); });
    app.get('/text', () => { throw 'not even an Error'; });
    app.get('/nothing', async () => { throw undefined; });
    app.get('/bare', () => { throw Object.create(null); });`,
  );
  const logged = (message: string) =>
    uwsrp.waitForLog(
      ({ msg, err }) => /UWSRP_WS_MODULE/.test(msg ?? '') && JSON.stringify(err).includes(message),
      message,
    );
  const cases = [
    ['GET', '/throws', 'thrown at once'],
    ['GET', '/rejects', 'rejected later'],
    ['GET', '/yields', 'thrown after a yield'],
    ['GET', '/corked', 'thrown in cork'],
    ['POST', '/data', 'thrown in onData'],
    ['POST', '/async-data', 'rejected in onData'],
    ['GET', '/text', 'not even an Error'],
    ['GET', '/nothing', '"undefined"'],
    ['GET', '/bare', 'Object: null prototype'],
  ] as const;
  for (const [method, path, message] of cases) {
    const answer = await request(uwsrp.port, { path, method, ...(method === 'POST' ? { body: 'x' } : {}) });
    assert.equal(answer.status, 500, path);
    assert.doesNotMatch(answer.text, /thrown|rejected|not even/);
    const line = await logged(message);
    assert.equal(line.level, 'error');
    assert.equal(line.handler, `${method.toLowerCase()} ${path}`);
  }
  await assert.rejects(request(uwsrp.port, { path: '/begun' }), { code: 'ECONNRESET' });
  await logged('thrown in the middle');
  assert.equal((await request(uwsrp.port, { path: '/answered' })).text, 'whole');
  await logged('thrown afterwards');
  const line = await uwsrp.waitForLog(
    ({ path, msg }) => path === '/throws' && msg === 'request failed',
    'of the answer',
  );
  assert.deepEqual([line.status, line.code], [500, 'INTERNAL']);
  assert.equal((await request(uwsrp.port, { path: '/else' })).text, 'http');
});

test('a client that leaves ends the request, and an error in onAborted ends nothing', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    app.get('/leave', (res) => {
      context.log.info('got it');
      res.onAborted(() => { throw new Error('thrown in onAborted'); });
    });`,
  );
  const leaving = request(uwsrp.port, { path: '/leave', timeoutMs: 200 });
  await uwsrp.waitForLog(({ msg }) => msg === 'got it', 'of the handler');
  await assert.rejects(leaving);
  await uwsrp.stop();
  assert.match(uwsrp.stdout, /thrown in onAborted/);
});

test('a response that is used when its client has gone, or twice, is logged and ends nothing', async (t) => {
  const { uwsrp } = await startNative(
    t,
    `
    app.get('/gone', (res) => {
      context.log.info('got it');
      res.onAborted(() => setTimeout(() => {
        res.cork(() => { res.end('never'); });
        context.log.info({ taken: res.write('never'), done: res.tryEnd('never', 5) }, 'used it');
        res.writeStatus('200 OK').writeHeader('a', 'b').end('never');
        res.close();
      }));
    });
    app.get('/twice', (res) => {
      res.end('once');
      setTimeout(() => res.end('twice'));
    });
    app.get('/failed', (res) => {
      setTimeout(() => res.end('after the error'), 1);
      throw new Error('before');
    });`,
  );
  const late = (handler: string, method: string) =>
    uwsrp.waitForLog(
      (line) => line.handler === handler && JSON.stringify(line.err).includes(`res.${method} was called after`),
      `of ${method}`,
    );
  const client = await connectRaw(uwsrp.port, t);
  client.send('GET /gone HTTP/1.1\r\nHost: a\r\n\r\n');
  await uwsrp.waitForLog(({ msg }) => msg === 'got it', 'of the handler');
  client.destroy();
  for (const method of ['cork', 'write', 'tryEnd', 'writeStatus', 'writeHeader', 'end', 'close']) {
    await late('get /gone', method);
  }
  const used = await uwsrp.waitForLog(({ msg }) => msg === 'used it', 'of the use');
  assert.deepEqual([used.taken, used.done], [true, [true, true]]);
  assert.equal((await request(uwsrp.port, { path: '/twice' })).text, 'once');
  await late('get /twice', 'end');
  assert.equal((await request(uwsrp.port, { path: '/failed' })).status, 500);
  await late('get /failed', 'end');
  assert.equal((await request(uwsrp.port)).text, 'http');
});

test('errors in WebSocket handlers are logged and end nothing', async (t) => {
  const { uwsrp, url } = await startNative(
    t,
    `
    app.ws('/faulty', {
      open: () => { throw new Error('thrown in open'); },
      message(ws, message) {
        if (text(message) === 'throw') throw new Error('thrown in message');
        if (text(message) === 'reject') return Promise.reject(new Error('rejected in message'));
        ws.send(message);
      },
      ping: () => { throw new Error('thrown in ping'); },
      close: () => { throw new Error('thrown in close'); },
    });
    app.ws('/refused', { upgrade: () => { throw new Error('thrown in upgrade'); } });
    app.ws('/rejected', { upgrade: async (res) => { res.onAborted(() => {}); await null; throw new Error('rejected in upgrade'); } });`,
  );
  const logged = (message: string, handler: string) =>
    uwsrp.waitForLog((line) => line.handler === handler && JSON.stringify(line.err).includes(message), message);
  const socket = await openWebSocket(t, url('/faulty'));
  await logged('thrown in open', 'ws /faulty open');
  socket.send('throw');
  await logged('thrown in message', 'ws /faulty message');
  socket.send('reject');
  await logged('rejected in message', 'ws /faulty message');
  socket.socket.ping();
  await logged('thrown in ping', 'ws /faulty ping');
  assert.equal((await socket.exchange('still there')).text, 'still there');
  await socket.close();
  await logged('thrown in close', 'ws /faulty close');
  for (const path of ['/refused', '/rejected']) {
    await assert.rejects(openWebSocket(t, url(path)), (error: Refused) => error.status === 500);
    await logged('in upgrade', `ws ${path} upgrade`);
  }
  assert.equal((await request(uwsrp.port)).text, 'http');
});

test('a WebSocket that is used when it has closed does nothing, is logged once, and ends nothing', async (t) => {
  const { uwsrp, url } = await startNative(
    t,
    `
    const bytes = (value) => (value instanceof ArrayBuffer ? value.byteLength : value);
    const use = (ws) => [
      ws.send('x'), ws.sendFirstFragment('x'), ws.sendFragment('x'), ws.sendLastFragment('x'), ws.ping(),
      ws.publish('news', 'x'), ws.subscribe('news'), ws.unsubscribe('news'), ws.isSubscribed('news'),
      ws.getTopics(), ws.getBufferedAmount(), bytes(ws.getRemoteAddress()), bytes(ws.getRemoteAddressAsText()),
      ws.cork(() => ws.send('x')) === ws, ws.end(1000, 'x') ?? null, ws.close() ?? null, ws.getUserData().name,
    ];
    const upgrade = (name) => (res, req, socketContext) =>
      res.upgrade({ name }, req.getHeader('sec-websocket-key'), '', '', socketContext);
    app.ws('/late', {
      upgrade: upgrade('ann'),
      open: (ws) => { ws.subscribe('news'); },
      message: async (ws) => {
        await new Promise((resolve) => { ws.getUserData().onClose = resolve; });
        setTimeout(() => context.log.info({ used: use(ws) }, 'in a timer'));
      },
      close: (ws) => { ws.getUserData().onClose(); },
    });
    app.ws('/closing', {
      upgrade: upgrade('bob'),
      message: (ws) => { ws.end(1000, 'told'); context.log.info({ used: use(ws) }, 'in its handler'); },
      close: async (ws) => { await null; context.log.info({ used: use(ws) }, 'in close'); },
    });`,
  );
  const nothing = [2, 2, 2, 2, 2, false, false, false, false, [], 0, 0, 0, true, null, null];
  const usedIn = async (place: string) => (await uwsrp.waitForLog(({ msg }) => msg === place, place)).used;
  const told = (handler: string) => uwsrp.logs().filter((line) => line.handler === handler && line.level === 'error');

  const leaving = await openWebSocket(t, url('/late'));
  leaving.send('x');
  leaving.socket.terminate();
  assert.deepEqual(await usedIn('in a timer'), [...nothing, 'ann']);
  assert.equal(told('ws /late').length, 1);
  assert.match(JSON.stringify(told('ws /late')), /ws\.send was called after the WebSocket had closed/);

  const ended = await openWebSocket(t, url('/closing'));
  ended.send('x');
  assert.deepEqual(await ended.closed, { code: 1000, reason: 'told' });
  assert.deepEqual(await usedIn('in its handler'), [...nothing, 'bob']);
  assert.deepEqual(await usedIn('in close'), [...nothing, 'bob']);
  assert.equal(told('ws /closing').length, 1);
  assert.equal((await request(uwsrp.port)).text, 'http');
});

test('a message that is too large is told in the log, whether its WebSocket is native or relayed', async (t) => {
  const { uwsrp, url } = await startNative(t, "app.ws('/given', { maxPayloadLength: 1000 }); app.ws('/default', {});", {
    env: { UWSRP_WS_MAX_MESSAGE: '1mb' },
  });
  const MEGABYTE = 1024 * 1024;
  for (const [path, length, code, limit] of [
    ['/given', 1001, 1006, '1000 (maxPayloadLength)'],
    ['/default', MEGABYTE + 1, 1006, '1mb (maxPayloadLength)'],
    ['/relayed', MEGABYTE + 1, 1009, '1mb (UWSRP_WS_MAX_MESSAGE)'],
    ['/relayed', 3 * MEGABYTE, 1006, '1mb (UWSRP_WS_MAX_MESSAGE)'],
  ] as const) {
    const told = () =>
      uwsrp.logs().filter(({ level, msg }) => level === 'warn' && msg?.includes(`larger than ${limit}`));
    const before = told().length;
    const socket = await openWebSocket(t, url(path));
    socket.send(Buffer.alloc(length));
    assert.equal((await socket.closed).code, code, path);
    await uwsrp.waitForLog(() => told().length > before, `of ${path}`);
    if (path !== '/relayed') assert.equal(told()[0]!.handler, `ws ${path}`);
  }
  const quiet = await openWebSocket(t, url('/default'));
  quiet.socket.terminate();
  await uwsrp.stop();
  assert.equal(uwsrp.logs().filter(({ msg }) => msg?.includes('larger than')).length, 4);
});

for (const [what, source] of Object.entries({
  'an error in a timer': "setTimeout(() => { throw new Error('of nobody'); }, 50);",
  'a rejection that nobody handles': "setTimeout(() => void Promise.reject(new Error('of nobody')), 50);",
})) {
  test(`${what} of the module ends uwsrp and the command in order`, async (t) => {
    const path = moduleFile(t, `export default () => { ${source} }`);
    const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { UWSRP_WS_MODULE: path } });
    assert.deepEqual(await uwsrp.exited, { code: 70, signal: null });
    const fatal = uwsrp.logs().find(({ level }) => level === 'fatal');
    assert.match(
      fatal!.msg!,
      /an error outside of a handler, most likely in UWSRP_WS_MODULE: Error: of nobody\n {4}at/,
    );
    assert.deepEqual(uwsrp.otherProcesses(), []);
  });
}

test('what is thrown in a timer ends uwsrp in order whatever it is', async (t) => {
  const path = moduleFile(t, 'export default () => { setTimeout(() => { throw Object.create(null); }, 50); }');
  const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { UWSRP_WS_MODULE: path } });
  assert.deepEqual(await uwsrp.exited, { code: 70, signal: null });
  assert.match(uwsrp.stdout, /most likely in UWSRP_WS_MODULE: \[Object: null prototype\] \{\}/);
  assert.deepEqual(uwsrp.otherProcesses(), []);
});

const BROKEN: Record<string, { readonly name?: string; readonly source: string; readonly says: RegExp }> = {
  'a syntax error': {
    source: 'export default function (app) {\n  app.get(;\n}',
    says: /cannot be loaded: \/\S+\/handlers\.mjs:2\n {2}app\.get\(;\n {10}\^\n\nSyntaxError: Unexpected token ';'$/,
  },
  'a syntax error in CommonJS': {
    name: 'a.cjs',
    source: 'module.exports = (;',
    says: /cannot be loaded: \/\S+\/a\.cjs:1\nmodule\.exports = \(;\n {18}\^\n\nSyntaxError: [^\n]+$/,
  },
  'an import of a name that is not exported': {
    source: "import fs from 'node:fs';\nimport { no } from './handlers.mjs';",
    says: /cannot be loaded: file:\/\S+\/handlers\.mjs:2\nimport { no } [^\n]+\n +\^\^\nSyntaxError: [^\n]+$/,
  },
  'an import that is not there': { source: "import 'no-such-package-anywhere';", says: /no-such-package-anywhere/ },
  'an error while it is loaded': { source: "throw new Error('at load')", says: /cannot be loaded: Error: at load/ },
  'an error that is none': {
    source: 'throw Object.create(null);',
    says: /cannot be loaded: \[Object: null prototype\]/,
  },
  'no default export': { source: 'export const handlers = 1;', says: /default export of .* is not a function/ },
  'a default export that is no function': {
    name: 'a.cjs',
    source: 'module.exports = { ws: 1 };',
    says: /not a function/,
  },
  'an error in its function': {
    source: "export default () => { throw new Error('in the function'); };",
    says: /failed in its default export: Error: in the function\n {4}at .*handlers\.mjs:1:\d+\)?$/,
  },
  'a rejection of its function': {
    source: "export default async () => { await null; throw new Error('rejected'); };",
    says: /failed in its default export: Error: rejected/,
  },
  'a pattern without a slash': { source: "export default (app) => app.get('chat', () => {});", says: /begins with \// },
  'a handler that is none': {
    source: "export default (app) => app.get('/chat', 'x');",
    says: /app\.get\('\/chat'\) needs a function/,
  },
  'a WebSocket handler that is none': {
    source: "export default (app) => app.ws('/chat', { message: 'x' });",
    says: /app\.ws\('\/chat'\): message is not a function/,
  },
  'an idle timeout that uWebSockets.js would end the process for': {
    source: "export default (app) => app.ws('/chat', { idleTimeout: 5 });",
    says: /idleTimeout is 0, or 8 to 960 seconds/,
  },
  'an attempt to listen': {
    source: 'export default (app) => app.listen(1, () => {});',
    says: /app\.listen is not for modules/,
  },
};

for (const [what, { name, source, says }] of Object.entries(BROKEN)) {
  test(`a module with ${what} ends the boot with 78 before the command is started`, async (t) => {
    const path = moduleFile(t, source, name);
    const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { UWSRP_WS_MODULE: path } });
    assert.deepEqual(await uwsrp.exited, { code: 78, signal: null });
    const fatal = uwsrp.logs().find(({ level }) => level === 'fatal');
    assert.match(fatal?.msg ?? '', says);
    assert.ok(fatal!.msg!.includes(`UWSRP_WS_MODULE: `) && fatal!.msg!.includes(path));
    assert.doesNotMatch(uwsrp.stdout, /started the command/);
  });
}

test('the place of a syntax error is told in a file that the module imports too, and nothing is run for it', async (t) => {
  const path = moduleFile(t, "console.log('is run'); import './more.js'; export default () => {};", 'handlers.mjs');
  const folder = dirname(path);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'more.js'), "export const first = 1;\nconst second = 'open;\n");
  const uwsrp = spawnUwsrp(t, { args: ['sleep', '10'], env: { UWSRP_WS_MODULE: path, UWSRP_WORKERS: '2' } });
  assert.equal((await uwsrp.exited).code, 78);
  const { msg } = uwsrp.logs().find(({ level }) => level === 'fatal')!;
  const place = `${folder}/more.js:2\nconst second = 'open;\n`;
  assert.ok(msg!.startsWith(`UWSRP_WS_MODULE: ${path} cannot be loaded: ${place}`), msg);
  assert.match(msg!, /\^\n\nSyntaxError: Invalid or unexpected token$/);
  assert.doesNotMatch(uwsrp.stdout, /is run/);
});

test('a module that is not there, or is a folder, ends the boot with 78, and fails the check', async (t) => {
  for (const args of [['sleep', '10'], ['--check']]) {
    for (const [path, says] of [
      [
        './no-such-file.js',
        /^uwsrp: UWSRP_WS_MODULE: ".*\/test\/fixtures\/no-such-file\.js" cannot be read: ENOENT \(/,
      ],
      ['./native', /^uwsrp: UWSRP_WS_MODULE: ".*\/test\/fixtures\/native" is no file \(/],
    ] as const) {
      const uwsrp = spawnUwsrp(t, { args, env: { UWSRP_WS_MODULE: path } });
      assert.equal((await uwsrp.exited).code, 78);
      assert.match(uwsrp.stderr, says);
    }
  }
});

const NEVER_SETTLING = {
  'an await at its top level': 'await new Promise(() => {}); export default () => {};',
  'the promise of its default export': 'export default () => new Promise(() => {});',
  'the promise of its default export, while a timer runs':
    'export default () => new Promise(() => setInterval(() => {}, 1000));',
};

for (const [what, source] of Object.entries(NEVER_SETTLING)) {
  for (const workers of ['1', '2']) {
    test(`a module for ever busy with ${what} ends the boot with 78 in time, UWSRP_WORKERS=${workers}`, async (t) => {
      const path = moduleFile(t, source);
      const env = { UWSRP_WS_MODULE: path, UWSRP_WORKERS: workers, UWSRP_READY_TIMEOUT: '300ms' };
      const uwsrp = spawnUwsrp(t, { args: ['sleep', '10'], env });
      assert.deepEqual(await uwsrp.exited, { code: 78, signal: null });
      const { msg } = uwsrp.logs().find(({ level }) => level === 'fatal')!;
      const waitsFor = what.startsWith('an await')
        ? 'an await at the top level'
        : 'the promise that its default export';
      assert.ok(msg!.startsWith(`UWSRP_WS_MODULE: ${path} is still not loaded after 300ms: ${waitsFor}`), msg);
      assert.match(msg!, /\(UWSRP_READY_TIMEOUT\): register the routes and return/);
      assert.doesNotMatch(uwsrp.stdout, /started the command/);
    });
  }
}

for (const [limit, workers] of [
  ['5m', '1'],
  ['5m', '2'],
  ['0', '1'],
] as const) {
  test(`a stop while a module is loaded ends at once, UWSRP_READY_TIMEOUT=${limit}, UWSRP_WORKERS=${workers}`, async (t) => {
    const path = moduleFile(t, "console.log('loading'); await new Promise(() => {});");
    const env = { UWSRP_WS_MODULE: path, UWSRP_READY_TIMEOUT: limit, UWSRP_WORKERS: workers };
    const uwsrp = spawnUwsrp(t, { args: ['sleep', '10'], env });
    await uwsrp.waitForOutput('loading');
    assert.deepEqual(await uwsrp.stop(), { code: 143, signal: null });
  });
}

test('CommonJS, compiled CommonJS and ESM modules are loaded, and no route can be added later', async (t) => {
  const body = "(app) => app.get('/late', (res) => { app.get('/x', () => {}); })";
  const sources = {
    'a.cjs': `module.exports = ${body}`,
    'b.cjs': `exports.__esModule = true; exports.default = ${body}`,
    'c.mjs': `export default ${body}`,
  };
  for (const [name, source] of Object.entries(sources)) {
    const path = moduleFile(t, source, name);
    const uwsrp = spawnUwsrp(t, { args: ['node', 'apps/node-http.js'], env: { UWSRP_WS_MODULE: path } });
    await uwsrp.ready;
    assert.equal((await request(uwsrp.port, { path: '/late' })).status, 500, name);
    await uwsrp.waitForLog(
      ({ err }) => /only while the module is loaded/.test(JSON.stringify(err ?? '')),
      'of the refusal',
    );
    await uwsrp.stop();
  }
});
