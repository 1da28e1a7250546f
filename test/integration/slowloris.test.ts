import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { request } from '../helpers/http.ts';
import { respond, type ScriptedApp, startScriptedApp } from '../helpers/scripted-app.ts';
import { SlowClients } from '../helpers/slow-clients.ts';
import { until } from '../helpers/until.ts';
import { startUwsrp, type Uwsrp } from '../helpers/uwsrp.ts';

const COUNT = 2000;
const MIB = 1024 * 1024;

/** Answers what is complete with a GET, and leaves uploads to themselves. */
function startApp(t: TestContext): Promise<ScriptedApp> {
  return startScriptedApp(t, async (connection) => {
    while (await connection.hasMore(120_000)) {
      const { method } = await connection.readRequestHead();
      if (method !== 'GET') {
        await connection.closed;
        return;
      }
      connection.send(respond('served'));
    }
  });
}

/** Requests of somebody else, several at a time. */
async function serveOthers(uwsrp: Uwsrp): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => request(uwsrp.port)));
    for (const { text } of answers) assert.equal(text, 'served');
  }
}

test('2,000 clients whose heads never end: others are served, memory is bounded, and all are closed', async (t) => {
  const app = await startApp(t);
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  await serveOthers(uwsrp);
  const memory = uwsrp.residentBytes();
  const slow = new SlowClients();
  await slow.open(t, uwsrp.port, COUNT, 'GET / HTTP/1.1\r\nHost: a.example\r\nX-Slow: ');
  const requests = app.requests;
  await serveOthers(uwsrp);
  assert.equal(app.requests - requests, 200, 'only whole requests reach the app');
  assert.ok(uwsrp.residentBytes() - memory < 32 * MIB, 'memory grew by 32 MiB');
  await slow.allClosed(30_000);
  await serveOthers(uwsrp);
});

test('2,000 clients whose bodies never end: others are served, memory is bounded, nothing is left', async (t) => {
  const app = await startApp(t);
  const uwsrp = await startUwsrp(t, { appPort: app.port });
  await serveOthers(uwsrp);
  await app.until(({ connections }) => connections === 0, 'idle connections to be closed', 10_000);
  const memory = uwsrp.residentBytes();
  const files = uwsrp.openFiles();
  const slow = new SlowClients();
  await slow.open(t, uwsrp.port, COUNT, 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000\r\n\r\n');
  // Three of the 1024 connections in four; the rest of the uploads waits.
  await app.until(({ connections }) => connections === 768, '768 uploads at the app', 10_000);
  await serveOthers(uwsrp);
  assert.equal(slow.openCount, COUNT);
  assert.ok(app.connections <= 1024);
  assert.ok(uwsrp.residentBytes() - memory < 64 * MIB, 'memory grew by 64 MiB');
  slow.close();
  await app.until(({ connections }) => connections === 0, 'the uploads to be gone from the app', 10_000);
  await until(() => uwsrp.openFiles() <= files, 'the connections of the clients to be gone');
  await serveOthers(uwsrp);
});
