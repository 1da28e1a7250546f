import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { UpstreamTarget } from '../../../src/lib/upstream-target.ts';
import { createProbe, type ProbeOptions, type ProbeResult } from '../../../src/supervisor/probe.ts';

const OK = [{ from: 200, to: 399 }];

function probeOf(options: Partial<ProbeOptions>) {
  const probe = createProbe({
    candidates: [],
    path: undefined,
    statuses: OK,
    file: undefined,
    userAgent: 'uwsrp/1.2.3',
    ...options,
  });
  return (limitMs = 5000, signal = new AbortController().signal) => probe(limitMs, signal);
}

const families = (port: number): UpstreamTarget[] => [
  { kind: 'tcp', host: '127.0.0.1', port },
  { kind: 'tcp', host: '::1', port },
];

async function listen(t: TestContext, server: Server, where: { port: number; host: string } | { path: string }) {
  server.listen(where);
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function serveHttp(t: TestContext, listener: RequestListener, host = '127.0.0.1'): Promise<number> {
  const server = createHttpServer(listener);
  t.after(() => server.closeAllConnections());
  return listen(t, server, { port: 0, host });
}

async function reasonOf(result: Promise<ProbeResult>): Promise<string | undefined> {
  const answer = await result;
  return answer.isReady ? undefined : answer.reason;
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a connection that is accepted is enough, on either family', async (t) => {
  for (const host of ['127.0.0.1', '::1'] as const) {
    const port = await listen(t, createServer(), { port: 0, host });
    assert.deepEqual(await probeOf({ candidates: families(port) })(), {
      isReady: true,
      target: { kind: 'tcp', host, port },
    });
  }
});

test('says that nobody is there, and where it looked', async () => {
  const port = await closedPort();
  assert.deepEqual(await probeOf({ candidates: families(port) })(), {
    isReady: false,
    reason: `connection refused on 127.0.0.1:${port} and [::1]:${port}`,
    isCutShort: false,
  });
  const path = join(tmpdir(), 'uwsrp-no-such.sock');
  const probe = probeOf({ candidates: [{ kind: 'unix', path }] });
  assert.equal(await reasonOf(probe()), `there is no socket on unix:${path}`);
});

test('asks for the path as localhost, under a name of its own, and follows no redirect', async (t) => {
  const requests: IncomingMessage[] = [];
  const port = await serveHttp(t, (request, response) => {
    requests.push(request);
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  const result = await probeOf({ candidates: families(port), path: '/up?deep=1' })();
  assert.ok(result.isReady);
  assert.equal(requests.length, 1);
  const [{ method, url, headers }] = requests as [IncomingMessage];
  assert.deepEqual(
    [method, url, headers.host, headers['user-agent']],
    ['GET', '/up?deep=1', 'localhost', 'uwsrp/1.2.3'],
  );
});

test('only the given statuses mean ready', async (t) => {
  let status = 503;
  const port = await serveHttp(t, (_request, response) => response.writeHead(status).end());
  const statuses = [
    { from: 200, to: 299 },
    { from: 404, to: 404 },
  ];
  const probe = probeOf({ candidates: families(port), path: '/up', statuses });
  assert.equal(await reasonOf(probe()), 'GET /up answered 503');
  status = 302;
  assert.equal(await reasonOf(probe()), 'GET /up answered 302');
  status = 404;
  assert.equal((await probe()).isReady, true);
});

test('speaks HTTP over a unix socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const target: UpstreamTarget = { kind: 'unix', path: join(folder, 'app.sock') };
  await listen(
    t,
    createHttpServer((_request, response) => response.end()),
    { path: target.path },
  );
  assert.deepEqual(await probeOf({ candidates: [target], path: '/' })(), { isReady: true, target });
});

test('an app that accepts and never answers is not ready within the limit', async (t) => {
  const port = await serveHttp(t, () => {});
  assert.deepEqual(await probeOf({ candidates: families(port), path: '/up' })(100), {
    isReady: false,
    reason: 'GET /up got no answer within 0.1 s',
    isCutShort: true,
  });
});

test('an answer that is not HTTP is told', async (t) => {
  const server = createServer((socket) => socket.end('SSH-2.0-server\r\n'));
  const port = await listen(t, server, { port: 0, host: '127.0.0.1' });
  const probe = probeOf({ candidates: families(port), path: '/up' });
  assert.match((await reasonOf(probe())) ?? '', /^GET \/up got no valid answer/);
});

test('stays with the family that answered, until nobody is there any more', async (t) => {
  const port = await serveHttp(t, (_request, response) => response.writeHead(503).end(), '::1');
  const probe = probeOf({ candidates: families(port), path: '/up' });
  assert.equal(await reasonOf(probe()), 'GET /up answered 503');

  // Another process on the other family must not be mistaken for the app.
  const other = createHttpServer((_request, response) => response.end());
  await listen(t, other, { port, host: '127.0.0.1' });
  assert.equal(await reasonOf(probe()), 'GET /up answered 503');
});

test('goes back to both families when the one that answered is gone', async (t) => {
  const first = createHttpServer((_request, response) => response.writeHead(503).end());
  const port = await listen(t, first, { port: 0, host: '::1' });
  const probe = probeOf({ candidates: families(port), path: '/up' });
  await probe();
  first.close();
  first.closeAllConnections();
  await once(first, 'close');
  assert.equal(await reasonOf(probe()), `connection refused on [::1]:${port}`);

  await listen(
    t,
    createHttpServer((_request, response) => response.end()),
    { port, host: '127.0.0.1' },
  );
  assert.equal((await probe()).isReady, true);
});

test('waits for the file as well', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'initialized');
  const port = await listen(t, createServer(), { port: 0, host: '127.0.0.1' });
  const probe = probeOf({ candidates: families(port), file });
  assert.equal(await reasonOf(probe()), `UWSRP_READY_FILE: there is no file ${file}`);
  writeFileSync(file, '');
  assert.equal((await probe()).isReady, true);
});

test('the signal cuts a probe short', async (t) => {
  const stop = new AbortController();
  const port = await serveHttp(t, () => stop.abort());
  const result = await probeOf({ candidates: families(port), path: '/up' })(60_000, stop.signal);
  assert.deepEqual(result, { isReady: false, reason: 'given up', isCutShort: true });
});
