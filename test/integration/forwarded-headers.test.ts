import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Fields } from '../helpers/http-message.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, startScriptedApp } from '../helpers/scripted-app.ts';
import { hasNewerBuild } from '../helpers/target.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

/** The product with this environment, and a function that gives the fields that the app got of a request. */
async function start(t: TestContext, env: Record<string, string> = {}) {
  let seen: Fields | undefined;
  const script = eachRequest(({ headers }) => {
    seen = headers;
    return respond('ok');
  });
  const app = await startScriptedApp(t, script);
  const uwsrp = await startUwsrp(t, { appPort: app.port, env });
  return async (...lines: string[]): Promise<Fields> => {
    const client = await connectRaw(uwsrp.port, t);
    client.send(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    assert.equal((await client.readResponse()).status, 200);
    client.destroy();
    return seen!;
  };
}

test('whose forwarding fields are believed', async (t) => {
  await t.test('auto: those of a private peer are kept, the gaps filled, the peer appended', async (t) => {
    const relay = await start(t);
    const headers = await relay(
      'Host: inside:8080',
      'X-Forwarded-For: 203.0.113.9',
      'X-Forwarded-For: 198.51.100.7',
      'X-Forwarded-Proto: https',
      'X-Request-Start: t=123',
      'Forwarded: for=203.0.113.9',
      'X-Real-IP: 203.0.113.9',
      'Via: 1.1 front',
    );
    assert.equal(headers.get('x-forwarded-for'), '203.0.113.9, 198.51.100.7, 127.0.0.1');
    assert.equal(headers.get('x-forwarded-proto'), 'https');
    assert.equal(headers.get('x-forwarded-host'), 'inside:8080');
    assert.equal(headers.get('x-forwarded-port'), '8080');
    assert.equal(headers.get('x-request-start'), 't=123');
    assert.equal(headers.get('forwarded'), 'for=203.0.113.9');
    assert.equal(headers.get('x-real-ip'), '203.0.113.9');
    assert.equal(headers.get('via'), '1.1 front');
  });

  await t.test('none: all are set afresh, and what could pass for them is dropped', async (t) => {
    const relay = await start(t, { UWSRP_TRUST_PROXY: 'none' });
    const headers = await relay(
      'Host: a.example',
      'X-Forwarded-For: 203.0.113.9',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: evil',
      'X-Forwarded-Port: 1',
      'X-Forwarded-Prefix: /evil',
      ...(hasNewerBuild ? ['X_Forwarded_For: 203.0.113.9'] : []),
      'X-Request-Start: t=1',
      'Forwarded: for=203.0.113.9',
      'X-Real-IP: 203.0.113.9',
      'Via: 1.1 front',
    );
    assert.equal(headers.get('x-forwarded-for'), '127.0.0.1');
    assert.equal(headers.get('x-forwarded-proto'), 'http');
    assert.equal(headers.get('x-forwarded-host'), 'a.example');
    assert.equal(headers.get('x-forwarded-port'), '80');
    assert.match(headers.get('x-request-start')!, /^t=\d{13}$/);
    for (const name of ['forwarded', 'x-real-ip', 'x-forwarded-prefix', 'x_forwarded_for']) {
      assert.equal(headers.get(name), undefined, name);
    }
    assert.equal(headers.get('via'), '1.1 front');
  });

  await t.test('on a platform the router is not appended', async (t) => {
    const relay = await start(t, { RENDER: 'true' });
    const kept = await relay('Host: a', 'X-Forwarded-For: 203.0.113.9');
    assert.equal(kept.get('x-forwarded-for'), '203.0.113.9');
    const absent = await relay('Host: a');
    assert.equal(absent.get('x-forwarded-for'), '127.0.0.1');
  });

  await t.test('the field that UWSRP_CLIENT_IP_HEADER names holds the client', async (t) => {
    const relay = await start(t, { UWSRP_CLIENT_IP_HEADER: 'Fly-Client-IP', UWSRP_FORWARDED_FOR: 'keep' });
    const headers = await relay('Host: a', 'Fly-Client-IP: 203.0.113.9', 'X-Forwarded-For: 10.0.0.1');
    assert.equal(headers.get('x-forwarded-for'), '203.0.113.9');
  });
});
