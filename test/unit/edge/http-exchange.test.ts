import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ExchangeHost, type ExchangeOutcome, HttpExchange } from '../../../src/edge/http-exchange.ts';
import { RequestBody } from '../../../src/edge/request-body.ts';
import { UploadWatch } from '../../../src/edge/upload-watch.ts';
import { createErrorAnswer } from '../../../src/proxy/error-answer.ts';
import { NO_PAGES } from '../../../src/proxy/error-pages.ts';
import { UpstreamPool } from '../../../src/upstream/upstream-pool.ts';
import { type ConnectionScript, respondChunked, startScriptedApp } from '../../helpers/scripted-app.ts';
import { StubResponse } from '../../helpers/stub-response.ts';
import { withTimeout } from '../../helpers/timeout.ts';

const LARGE = 'x'.repeat(40_000);
const LARGE_ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`;

/** An app, a pool with one connection to it, and clients in front of it. */
async function start(t: TestContext, script: ConnectionScript) {
  const app = await startScriptedApp(t, script);
  const pool = new UpstreamPool({ target: { kind: 'tcp', host: '127.0.0.1', port: app.port }, maxConnections: 1 });
  t.after(() => pool.close());
  const watch = new UploadWatch({ maxBodyBytes: 0, uploadIdleTimeoutMs: 60_000 });

  /** Sends a request; `uploadBytes` of a body are announced, and are the test's to send. */
  const ask = (target: string, options: { isSlow?: boolean; uploadBytes?: number } = {}) => {
    const res = new StubResponse();
    res.isSlow = options.isSlow ?? false;
    let onOutcome: (outcome: ExchangeOutcome) => void;
    const outcome = new Promise<ExchangeOutcome>((resolve) => {
      onOutcome = resolve;
    });
    const host: ExchangeHost = {
      pool,
      closesConnections: false,
      errorAnswer: createErrorAnswer(NO_PAGES),
      now: () => 0,
      onExchangeEnd: (end) => onOutcome(end),
    };
    const isUpload = options.uploadBytes !== undefined;
    const lines = isUpload ? `Content-Length: ${options.uploadBytes}\r\n` : '';
    const request = {
      method: isUpload ? 'POST' : 'GET',
      path: target,
      peer: '10.0.0.9',
      isTrusted: true,
      clientIp: undefined,
      forwardedFor: undefined,
      realIp: undefined,
      startedAt: 0,
      accept: undefined,
      isLast: false,
      wantsClose: false,
      requestId: undefined,
      hsts: undefined,
      head: `${isUpload ? 'POST' : 'GET'} ${target} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`,
      kept: undefined,
    };
    const body = isUpload ? new RequestBody(res.asResponse, false, watch) : undefined;
    const exchange = new HttpExchange(host, res.asResponse, request, body);
    const answer = new Promise<void>((resolve) => {
      const onEnd = exchange.onEnd.bind(exchange);
      exchange.onEnd = () => {
        onEnd();
        resolve();
      };
    });
    exchange.start();
    return {
      res,
      answered: () => withTimeout(answer, `the whole answer of the app to ${target}`),
      ended: () => withTimeout(outcome, `the end of the request for ${target}`),
    };
  };
  return { app, pool, ask };
}

const answers: Record<string, string> = {
  '/large': LARGE_ANSWER,
  '/chunked': respondChunked([LARGE]),
};

/** Answers each request with what its path names, else with the path itself. */
const byPath: ConnectionScript = async (connection) => {
  for (;;) {
    const { target } = await connection.readRequest();
    connection.send(answers[target] ?? `HTTP/1.1 200 OK\r\nContent-Length: ${target.length}\r\n\r\n${target}`);
  }
};

for (const target of ['/large', '/chunked']) {
  test(`a client that leaves before it has taken ${target} takes nothing from the next one on its connection`, async (t) => {
    const { app, ask } = await start(t, byPath);
    const slow = ask(target, { isSlow: true });
    await slow.answered();
    const next = ask('/next');
    slow.res.abort();
    assert.equal((await slow.ended()).status, 499);
    assert.equal((await next.ended()).status, 200);
    assert.equal(next.res.body, '/next');
    assert.equal(app.accepted.length, 1);
  });

  test(`a client that is slow with the end of ${target} does not hold back the next one on its connection`, async (t) => {
    const { app, ask } = await start(t, byPath);
    const slow = ask(target, { isSlow: true });
    await slow.answered();
    const next = ask('/next');
    assert.equal((await next.ended()).status, 200);
    slow.res.drain();
    assert.equal((await slow.ended()).status, 200);
    assert.equal(slow.res.body, LARGE);
    assert.ok(slow.res.isEnded);
    assert.equal(app.accepted.length, 1);
  });
}

test('an answer that waited for the end of the upload does not hold back the next one on its connection', async (t) => {
  const { pool, ask } = await start(t, async (connection) => {
    const head = await connection.readRequestHead();
    connection.send(LARGE_ANSWER);
    await connection.readRequestBody(head);
    await byPath(connection, 0);
  });
  const upload = ask('/upload', { isSlow: true, uploadBytes: 10 });
  upload.res.receive('12345', false);
  const next = ask('/next');
  await upload.answered();
  assert.equal(pool.counters.waiting, 1);
  upload.res.receive('67890', true);
  assert.equal((await next.ended()).status, 200);
  assert.equal(next.res.body, '/next');
  upload.res.drain();
  assert.equal((await upload.ended()).status, 200);
  assert.equal(upload.res.body, LARGE);
});

test('a refused upload frees its connection at once, however slowly its client takes the answer', async (t) => {
  const { app, pool, ask } = await start(t, async (connection, index) => {
    if (index > 0) return byPath(connection, index);
    await connection.readRequestHead();
    connection.send(LARGE_ANSWER.replace('200 OK', '413 Content Too Large'));
    assert.equal(await connection.closed, 'fin');
  });
  const upload = ask('/upload', { isSlow: true, uploadBytes: 10 });
  upload.res.receive('12345', false);
  const next = ask('/next');
  assert.equal((await next.ended()).status, 200);
  // The client goes on, and is done with its upload before it reads.
  upload.res.receive('67890', true);
  assert.deepEqual(pool.counters, { inUse: 0, idle: 1, waiting: 0 });
  upload.res.drain();
  assert.equal((await upload.ended()).status, 413);
  assert.equal(upload.res.body, LARGE);
  assert.equal(app.accepted.length, 2);
});
