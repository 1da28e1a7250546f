import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxiedApp } from '../helpers/proxied-app.ts';
import { forward, head, PROBE, record } from '../helpers/request-case.ts';
import { until } from '../helpers/until.ts';

test('the health path', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_HEALTH_PATH: '/up', UWSRP_DRAIN_DELAY: '8s' } });

  for (const [name, request] of [
    ['GET', head('GET /up HTTP/1.1')],
    ['HEAD', head('HEAD /up HTTP/1.1')],
    ['GET with a query', head('GET /up?full=1 HTTP/1.1')],
    ['a Host with the address of a probe', head('GET /up HTTP/1.1', 'Host: 10.1.2.3:8080')],
    ['a Host that is no host', head('GET /up HTTP/1.1', 'Host: _kube/probe')],
    [
      'forwarding fields of any kind',
      head('GET /up HTTP/1.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: evil.example'),
    ],
  ] as const) {
    await proxied.test(`is answered by uwsrp itself (${name})`, async (run) => {
      const seen = await record(run);
      const client = await run.send(request);
      const method = request.slice(0, request.indexOf(' '));
      const response = await client.readResponse({ method });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.equal(response.headers.get('content-length'), '3');
      assert.equal(response.body.toString(), method === 'HEAD' ? '' : 'ok\n');
      client.send(request);
      assert.equal((await client.readResponse({ method })).status, 200);
      assert.equal(seen.length, 0);
      assert.equal(run.app.accepted.length, 0);
    });
  }

  for (const line of [
    ...[
      'POST /up',
      'PUT /up',
      'OPTIONS /up',
      'get /up',
      'GET /up/',
      'GET /up/x',
      'GET /upp',
      'GET /UP',
      'GET //up',
      'GET /%75p',
    ],
    ...['GET /?/up', 'GET /x/../up', 'GET /up;a'],
  ]) {
    await proxied.test(`is not ${line}`, async (run) => {
      assert.equal((await forward(run, head(`${line} HTTP/1.1`))).requestLine, `${line} HTTP/1.1`);
    });
  }

  await proxied.test(
    'says 503 after a connect to the app failed, and finds out by itself that the app is back',
    async (run) => {
      const { port } = run.app;
      const health = async () => {
        const client = await run.send(head('GET /up HTTP/1.1'));
        return (await client.readResponse()).status;
      };
      await run.app.stop();
      const client = await run.send(PROBE);
      assert.equal((await client.readResponse()).status, 502);
      assert.equal(await health(), 503);
      await run.app.listen({ host: '127.0.0.1', port });
      await until(async () => (await health()) === 200, 'a 200 for health, though nobody else asks the app');
    },
  );

  // The last case: it stops the product.
  await proxied.test('says 503 and closes when uwsrp is stopping, while requests are still served', async (run) => {
    await record(run);
    const health = await run.connect();
    const other = await run.connect();
    void run.uwsrp.exited;
    run.uwsrp.child.kill('SIGTERM');
    await run.uwsrp.waitForLog((line) => line.msg === 'stopping', 'stopping');
    health.send(head('GET /up HTTP/1.1'));
    const response = await health.readResponse();
    assert.equal(response.status, 503);
    assert.equal(response.body.toString().trim(), 'unavailable');
    assert.equal(response.headers.get('connection'), 'close');
    assert.equal(await health.closed, 'fin');
    other.send(PROBE);
    const served = await other.readResponse();
    assert.equal(served.status, 200);
    assert.equal(served.headers.get('connection'), 'close');
  });
});
