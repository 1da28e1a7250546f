import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MeasuredUwsrp } from '../helpers/measured-uwsrp.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { eachRequest, respond, startScriptedApp } from '../helpers/scripted-app.ts';

// What a small request costs, counted and not timed: a slow machine counts the same. The bounds are about twice what was
// seen, so they say when a request does something new, not when it does something slower.

const CLIENTS = 16;
const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\nAccept: */*\r\nCookie: a=b\r\n\r\n';

/** Clients that ask again and again on their own connections. */
async function startClients(t: TestContext, ...flags: string[]) {
  const app = await startScriptedApp(
    t,
    eachRequest(() => respond('hello')),
  );
  const uwsrp = await MeasuredUwsrp.start(t, app.port, ...flags);
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connectRaw(uwsrp.port, t)));
  const ask = async (requests: number) => {
    await Promise.all(
      clients.map(async (client) => {
        for (let i = 0; i < requests / CLIENTS; i += 1) {
          client.send(GET);
          assert.equal((await client.readResponse()).status, 200);
        }
      }),
    );
  };
  // Connections to the app are open, code is compiled.
  await ask(8000);
  return { uwsrp, ask };
}

test('a small request takes two reads, two writes, and little else of the kernel', async (t) => {
  const { uwsrp, ask } = await startClients(t);
  const requests = 1600;
  const calls = await uwsrp.countCalls(() => ask(requests));
  const each = (...names: string[]) => names.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0) / requests;
  t.diagnostic([...calls].map(([name, count]) => `${name} ${(count / requests).toFixed(2)}`).join(', '));
  const reads = each('read', 'recvfrom', 'recvmsg', 'readv');
  const writes = each('write', 'writev', 'sendto', 'sendmsg');
  // Fewer than two would mean that what was counted is not what was asked for.
  assert.ok(reads >= 2 && reads < 3.5, `${reads} reads`);
  assert.ok(writes >= 2 && writes < 3.5, `${writes} writes`);
  const others = each(...[...calls.keys()].filter((name) => !/read|recv|write|send|epoll|futex/.test(name)));
  assert.ok(others < 3, `${others} other calls`);
});

test('a small request makes little garbage', async (t) => {
  const { uwsrp, ask } = await startClients(t, '--trace-gc');
  const before = uwsrp.output.length;
  const requests = 24_000;
  await ask(requests);
  // "Scavenge 10.3 (12.1) -> 9.1 (12.1) MB": what was allocated lies between the end of one and the begin of the next.
  const collections = [...uwsrp.output.slice(before).matchAll(/ ([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB/g)];
  assert.ok(collections.length >= 3, `${collections.length} collections`);
  let megabytes = 0;
  for (const [index, [, from]] of collections.entries()) {
    if (index > 0) megabytes += Number(from) - Number(collections[index - 1]![2]);
  }
  const bytes = (megabytes * 1e6) / (requests * ((collections.length - 1) / collections.length));
  t.diagnostic(`${Math.round(bytes)} bytes a request in ${collections.length} collections`);
  assert.ok(bytes > 100 && bytes < 8000, `${bytes} bytes a request`);
});
