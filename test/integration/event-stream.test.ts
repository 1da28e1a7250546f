import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { answerOnce, startProxiedApp } from '../helpers/proxied-app.ts';

const COMMENT = ':\n\n';
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const streamHead = (...fields: string[]) =>
  ['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', ...fields, '', ''].join('\r\n');
const EVENT_STREAM = streamHead('Content-Type: text/event-stream', 'Cache-Control: no-store');

test('an event stream', async (t) => {
  const proxied = await startProxiedApp(t);

  await proxied.test('passes each event on before the next one is sent, and its end', async (run) => {
    await run.script(answerOnce(EVENT_STREAM));
    const client = await run.send();
    await run.app.until((app) => app.requests === 1, 'the request');
    const [app] = run.app.accepted;
    for (let id = 1; id <= 50; id += 1) {
      app!.send(chunk(`id: ${id}\ndata: ${'x'.repeat(id * 20)}\n\n`));
      await client.readUntil(`id: ${id}\ndata: ${'x'.repeat(id * 20)}\n\n`);
    }
    app!.send('0\r\n\r\n');
    await client.readUntil('0\r\n\r\n');
  });

  for (const type of ['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream;charset=UTF-8']) {
    await proxied.test(`opens by a comment when no event comes for a while (${type})`, async (run) => {
      await run.script(answerOnce(streamHead(`Content-Type: ${type}`)));
      const client = await run.send();
      const { status, headers } = await client.readResponseHead();
      assert.equal(status, 200);
      assert.equal(headers.get('content-type'), type);
      assert.match(await client.readUntil(COMMENT), /^3\r\n:\n\n$/);
      // Only once, and never between events.
      run.app.accepted[0]!.send(chunk('data: 1\n\n'));
      assert.equal(await client.readUntil('data: 1\n\n'), '\r\n9\r\ndata: 1\n\n');
      run.app.accepted[0]!.send(`${chunk('data: 2\n\n')}0\r\n\r\n`);
      assert.equal(await client.readUntil('0\r\n\r\n'), '\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n');
    });
  }

  await proxied.test('opens by a comment too when only the end of the connection ends it', async (run) => {
    await run.script(answerOnce('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'));
    const client = await run.send();
    await client.readUntil(COMMENT);
    run.app.accepted[0]!.end('data: last\n\n');
    assert.match(await client.readUntil('0\r\n\r\n'), /data: last\n\n\r\n0\r\n\r\n$/);
  });

  await proxied.test('opens by its first event when that is there', async (run) => {
    const response = await run.ask(`${EVENT_STREAM}${chunk('data: 1\n\n')}0\r\n\r\n`);
    assert.equal(response.body.toString(), 'data: 1\n\n');
  });

  await proxied.test('gets no comment where that would be wrong', async (run) => {
    const others = [
      streamHead('Content-Type: text/event-streams'),
      streamHead('Content-Type: text/plain'),
      streamHead('Content-Type: application/json, text/event-stream'),
      // The bytes are not text: a comment would break the coding.
      streamHead('Content-Type: text/event-stream', 'Content-Encoding: gzip'),
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n',
    ];
    for (const head of others) {
      await run.script(async (connection) => {
        const { target } = await connection.readRequest();
        connection.send(target === '/other' ? head : EVENT_STREAM);
      });
      const client = await run.send('GET /other HTTP/1.1\r\nHost: a\r\n\r\n');
      await run.app.until((app) => app.requests === 1, 'the request');
      // Its comment comes after the time in which the other one would have come.
      const clock = await run.send('GET /clock HTTP/1.1\r\nHost: a\r\n\r\n');
      await clock.readUntil(COMMENT);
      assert.equal(client.receivedLength, 0, 'uWebSockets.js sends no head without a body');
      run.app.accepted[0]!.send(head.includes('Content-Length') ? 'data: 1\n\n' : `${chunk('data: 1\n\n')}0\r\n\r\n`);
      assert.equal((await client.readResponse()).body.toString(), 'data: 1\n\n');
    }
  });

  await proxied.test('is answered to HEAD by its head alone', async (run) => {
    const response = await run.ask(EVENT_STREAM, 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
  });

  await proxied.test('keeps Last-Event-ID and Accept of the request, and a 204 that ends it', async (run) => {
    let fields: (string | undefined)[] = [];
    await run.script(async (connection) => {
      const { headers } = await connection.readRequest();
      fields = [headers.get('last-event-id'), headers.get('accept')];
      connection.send('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const client = await run.send('GET / HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nLast-Event-ID: 7\r\n\r\n');
    assert.equal((await client.readResponse()).status, 204);
    assert.deepEqual(fields, ['7', 'text/event-stream']);
  });

  await proxied.test('that ends before the upload does keeps what came, though it comes late', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      await connection.sendAndFlush(EVENT_STREAM);
      await delay(20);
      connection.send(`${chunk('data: all of it\n\n')}0\r\n\r\n`);
      await connection.hasMore();
    });
    const client = await run.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
    // Longer than a stream waits for its first event: that wait is the case.
    await delay(300);
    client.send('y');
    assert.equal((await client.readResponse()).body.toString(), 'data: all of it\n\n');
  });

  await proxied.test('that fails before its first event gets 502, and one that fails later is cut', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequest();
      connection.end(EVENT_STREAM);
    });
    assert.equal((await (await run.send()).readResponse()).status, 502);
    await run.script(answerOnce(EVENT_STREAM));
    const client = await run.send();
    await client.readUntil(COMMENT);
    run.app.accepted[0]!.reset();
    assert.doesNotMatch((await client.readToEnd()).toString(), /0\r\n\r\n$/);
  });
});
