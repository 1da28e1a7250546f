import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertErrorAnswer, GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { eachRequest, respond } from '../helpers/scripted-app.ts';

const MADE = /^[0-9a-f]{32}$/;
const withFields = (...lines: string[]) => GET.replace(/\r\n$/, `${lines.map((line) => `${line}\r\n`).join('')}\r\n`);

/** What the app got, and what the client got back. */
async function idsOf(run: ProxiedCase, request: string): Promise<{ app: string[]; client: string[] }> {
  let app: string[] = [];
  await run.script(
    eachRequest(({ headers }) => {
      app = headers.all('x-request-id');
      return respond('ok');
    }),
  );
  const response = await (await run.send(request)).readResponse();
  return { app, client: response.headers.all('x-request-id') };
}

test('X-Request-Id', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('is made when absent: one value for the app and the client', async (run) => {
    const { app, client } = await idsOf(run, GET);
    assert.match(app[0]!, MADE);
    assert.deepEqual(app, client);
    assert.equal(app.length, 1);
    assert.notDeepEqual(await idsOf(run, GET), { app, client });
  });

  await proxied.test('is kept when it is safe', async (run) => {
    const ids = { app: ['router-1/abc=='], client: ['router-1/abc=='] };
    assert.deepEqual(await idsOf(run, withFields('X-REQUEST-ID:  router-1/abc== ')), ids);
  });

  for (const [what, lines] of [
    ['it is empty', ['X-Request-Id:']],
    ['it holds a blank', ['X-Request-Id: a b']],
    ['it holds a quote', ['X-Request-Id: a"b']],
    ['it holds bytes above ASCII', ['X-Request-Id: caf\xe9s']],
    ['it is 10 KiB long', [`X-Request-Id: ${'x'.repeat(10_240)}`]],
    ['it comes twice', ['X-Request-Id: a', 'X-Request-Id: b']],
    ['Connection names it', ['X-Request-Id: a', 'Connection: x-request-id']],
  ] as const) {
    await proxied.test(`is safe at the app, and there once, when ${what}`, async (run) => {
      const { app, client } = await idsOf(run, withFields(...lines));
      assert.deepEqual(app, client);
      assert.equal(app.length, 1);
      assert.match(app[0]!, /^([0-9a-f]{32}|a)$/);
      if (what !== 'Connection names it') assert.match(app[0]!, MADE);
    });
  }

  await proxied.test('of the app goes to the client, and no second one', async (run) => {
    const response = await run.ask(respond('ok', { head: ["x-request-id: the app's own"] }));
    assert.deepEqual(response.headers.all('x-request-id'), ["the app's own"]);
  });

  await proxied.test("that the app's Connection names is replaced by the one it got", async (run) => {
    const head = ['X-Request-Id: gone', 'Connection: x-request-id'];
    const response = await run.ask(respond('ok', { head }), withFields('X-Request-Id: mine'));
    assert.deepEqual(response.headers.all('x-request-id'), ['mine']);
  });

  await proxied.test('is on answers with no other field, with a body in pieces, and without a body', async (run) => {
    const request = withFields('X-Request-Id: mine');
    for (const answer of [
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 200 OK\r\nX-A: \xe4\r\nContent-Length: 0\r\n\r\n',
    ]) {
      const response = await run.ask(answer, request);
      assert.deepEqual(response.headers.all('x-request-id'), ['mine']);
    }
  });

  await proxied.test('is on our own answers', async (run) => {
    const failed = await run.ask('garbage\r\n\r\n', withFields('X-Request-Id: mine'));
    assertErrorAnswer(failed, 502);
    assert.equal(failed.headers.get('x-request-id'), 'mine');
    for (const request of [
      withFields('X-Request-Id: mine', 'Transfer-Encoding: gzip'),
      `${withFields('X-Request-Id: mine', 'Expect: x', 'Content-Length: 4')}body`,
    ]) {
      const refused = await (await run.send(request)).readResponse();
      assert.ok(refused.status >= 400 && refused.status < 500);
      assert.equal(refused.headers.get('x-request-id'), 'mine');
    }
  });
});

test('UWSRP_REQUEST_ID=off adds none, and hands on what the client and the app send', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_REQUEST_ID: 'off' } });

  await proxied.test('none is made', async (run) => {
    assert.deepEqual(await idsOf(run, GET), { app: [], client: [] });
  });

  await proxied.test("the client's passes as it is", async (run) => {
    const lines = ['X-Request-Id: a b', 'X-Request-Id: c'];
    assert.deepEqual(await idsOf(run, withFields(...lines)), { app: ['a b', 'c'], client: [] });
  });
});
