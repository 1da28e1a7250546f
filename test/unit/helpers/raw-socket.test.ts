import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectRaw } from '../../helpers/raw-socket.ts';
import { eachRequest, respond, respondChunked, startScriptedApp } from '../../helpers/scripted-app.ts';

test('reads responses by length, chunks, end of connection and HEAD, one after another', async (t) => {
  const app = await startScriptedApp(t, async (connection) => {
    const answers = [
      respond('five5', { head: ['X-A: 1', 'x-b:  2 ', 'X-A: 3'] }),
      respondChunked(['abc', 'd']),
      'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
    ];
    for (const answer of answers) {
      await connection.readRequest();
      connection.send(answer);
    }
    await connection.readRequest();
    connection.end('HTTP/1.1 200 \r\n\r\nto the end');
  });
  const client = await connectRaw(app.port, t);
  const ask = (method = 'GET') => client.send(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);

  ask();
  const first = await client.readResponse();
  assert.deepEqual(first.headers.list, [
    ['X-A', '1'],
    ['x-b', '2'],
    ['X-A', '3'],
    ['Content-Length', '5'],
  ]);
  assert.equal(first.body.toString(), 'five5');
  ask();
  const second = await client.readResponse();
  assert.equal(second.body.toString(), 'abcd');
  assert.deepEqual(second.chunkSizes, [3, 1]);
  ask('HEAD');
  assert.equal((await client.readResponse({ method: 'HEAD' })).headers.get('content-length'), '1000');
  ask();
  assert.equal((await client.readResponse()).status, 100);
  assert.equal((await client.readResponse()).status, 204);
  ask();
  const last = await client.readResponse();
  assert.equal(last.framing, 'close');
  assert.equal(last.body.toString(), 'to the end');
  assert.equal(await client.closed, 'fin');
  assert.equal(app.requests, 5);
});

test('refuses responses that are not HTTP/1.1 to the letter', async (t) => {
  const wrong = [
    'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
  ];
  const app = await startScriptedApp(t, (connection, index) => connection.end(wrong[index]));
  for (const text of wrong) {
    const client = await connectRaw(app.port, t);
    await assert.rejects(client.readResponse(), { name: 'AssertionError' }, text);
  }
});

test('tells FIN and RST apart, on both sides', async (t) => {
  const app = await startScriptedApp(t, async (connection, index) => {
    await connection.readUntil('go');
    if (index === 0) connection.reset();
    else connection.end();
  });
  const cut = await connectRaw(app.port, t);
  cut.send('go');
  assert.equal(await cut.closed, 'reset');
  const ended = await connectRaw(app.port, t);
  ended.send('go');
  assert.equal(await ended.closed, 'fin');
  ended.reset();
  assert.equal(await app.accepted[1]!.closed, 'reset');
  await app.until((now) => now.connections === 0, 'no open connection');
});

test('the app sees a request as it was framed, and answers as long as the client stays', async (t) => {
  const seen: unknown[] = [];
  const script = eachRequest((request) => {
    seen.push([request.method, request.target, request.framing, request.body.toString(), request.rawBody.toString()]);
    return respond('ok');
  });
  const app = await startScriptedApp(t, script);
  const client = await connectRaw(app.port, t);
  client.send('POST /a?b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n');
  await client.readResponse();
  client.send('GET / HTTP/1.1\r\n\r\n');
  await client.readResponse();
  client.end();
  assert.equal(await client.closed, 'fin');
  assert.deepEqual(seen, [
    ['POST', '/a?b', 'chunked', 'abc', '3\r\nabc\r\n0\r\n\r\n'],
    ['GET', '/', 'none', '', ''],
  ]);
});

test('a script that throws fails the stop of the app', async (t) => {
  const app = await startScriptedApp(t, () => {
    throw new Error('from the script');
  });
  await connectRaw(app.port, t);
  await app.until((now) => now.accepted.length === 1, 'a connection');
  await assert.rejects(app.stop(), /from the script/);
});
