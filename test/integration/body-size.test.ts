import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndOfBytes } from '../helpers/byte-reader.ts';
import { readOneBody } from '../helpers/one-body.ts';
import { answerOnce, assertErrorAnswer, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { respond } from '../helpers/scripted-app.ts';

const LIMIT = 1024 * 1024;

function post(framing: string, fields = ''): string {
  return `POST /upload HTTP/1.1\r\nHost: a.example\r\n${framing}\r\n${fields}\r\n`;
}

function chunk(bytes: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);
}

/** Sends until the other side takes no more; gives how much it took. */
async function sendEndlessly(client: RawSocket, most: number): Promise<number> {
  const piece = Buffer.alloc(256 * 1024, 'x');
  let sent = 0;
  try {
    for (; sent < most; sent += piece.length) await client.sendAndFlush(piece);
  } catch {
    // The end that the case is about.
  }
  return sent;
}

test('UWSRP_MAX_BODY_SIZE', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_MAX_BODY_SIZE: '1mb' } });

  await proxied.test('lets a body of exactly the limit pass, with a length and in chunks', async (run) => {
    const body = Buffer.alloc(LIMIT, 'b');
    for (const bytes of [
      [Buffer.from(post(`Content-Length: ${LIMIT}`)), body],
      [Buffer.from(post('Transfer-Encoding: chunked')), chunk(body), Buffer.from('0\r\n\r\n')],
    ]) {
      let length = 0;
      await run.script(async (connection) => {
        length = (await connection.readRequest()).body.length;
        connection.send(respond('ok'));
      });
      const client = await run.send(Buffer.concat(bytes));
      assert.equal((await client.readResponse()).status, 200);
      assert.equal(length, LIMIT);
    }
  });

  for (const length of [`${LIMIT + 1}`, '5000000000', '9007199254740991']) {
    await proxied.test(`answers 413 to Content-Length ${length} at once, and asks the app nothing`, async (run) => {
      const client = await run.send(post(`Content-Length: ${length}`));
      const response = await client.readResponse();
      assertErrorAnswer(response, 413);
      assert.equal(response.headers.get('connection'), 'close');
      assert.match(response.headers.get('date')!, /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
      assert.equal(run.app.accepted.length, 0);
    });
  }

  await proxied.test('says it in JSON to a client that prefers JSON', async (run) => {
    const client = await run.send(post(`Content-Length: ${LIMIT + 1}`, 'Accept: application/json\r\n'));
    const response = await client.readResponse();
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(JSON.parse(response.body.toString()).error.code, 'BODY_TOO_LARGE');
  });

  await proxied.test('sends no body in answer to HEAD', async (run) => {
    const client = await run.send(post(`Content-Length: ${LIMIT + 1}`).replace('POST', 'HEAD'));
    const response = await client.readResponse({ method: 'HEAD' });
    assert.equal(response.status, 413);
    client.send(Buffer.alloc(LIMIT + 1));
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('answers an expectation, and then 413', async (run) => {
    const client = await run.send(post(`Content-Length: ${LIMIT + 1}`, 'Expect: 100-continue\r\n'));
    assert.equal((await client.readResponse()).status, 100);
    assertErrorAnswer(await client.readResponse(), 413);
  });

  await proxied.test('aborts the app when a chunked body crosses the limit, and answers 413', async (run) => {
    const ending = await readOneBody(run);
    const client = await run.send(post('Transfer-Encoding: chunked'));
    for (let i = 0; i < 16; i += 1) await client.sendAndFlush(chunk(Buffer.alloc(LIMIT / 16, 'c')));
    await run.app.until((app) => app.requests === 1, 'the request at the app');
    client.send(chunk('one byte too many'));
    const response = await client.readResponse();
    assertErrorAnswer(response, 413);
    assert.equal(response.headers.get('connection'), 'close');
    const cut = await ending();
    assert.ok(cut instanceof EndOfBytes, 'the app must not see a complete body');
    assert.equal(cut.pending.length, 0, 'bytes over the limit reached the app');
  });

  await proxied.test('cuts an answer that the app has begun when the body crosses the limit', async (run) => {
    await run.script(async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun');
      await connection.closed;
    });
    const client = await run.send(post('Transfer-Encoding: chunked'));
    await client.readUntil('begun');
    client.send(chunk(Buffer.alloc(LIMIT + 1, 'c')));
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('reads no request out of the body that still comes, and closes when it is over', async (run) => {
    await run.script(answerOnce(respond('phantom')));
    const text = 'GET /secret HTTP/1.1\r\nHost: a.example\r\n\r\n';
    const body = text.repeat(Math.ceil((LIMIT + 1) / text.length));
    const client = await run.send(post(`Content-Length: ${body.length}`));
    assertErrorAnswer(await client.readResponse(), 413);
    client.send(body);
    client.send(text);
    assert.equal((await client.readToEnd()).length, 0);
    assert.equal(run.app.accepted.length, 0);
  });

  await proxied.test('lets a client that reads only at the end send it all, and have the answer', async (run) => {
    const before = run.uwsrp.residentBytes();
    const length = 48 * 1024 * 1024;
    const client = await run.send(post(`Content-Length: ${length}`));
    assert.equal(await sendEndlessly(client, length), length);
    assertErrorAnswer(await client.readResponse(), 413);
    assert.equal(await client.closed, 'fin');
    assert.ok(run.uwsrp.residentBytes() - before < 32 * 1024 * 1024, 'memory grew by 32 MB');
  });

  await proxied.test('closes on a client that never stops sending', async (run) => {
    const client = await run.send(post('Content-Length: 1000000000000'));
    assertErrorAnswer(await client.readResponse(), 413);
    const most = 256 * 1024 * 1024;
    assert.ok((await sendEndlessly(client, most)) < most);
  });

  await proxied.test('closes on a client that stops and stays', async (run) => {
    const client = await run.send(post('Transfer-Encoding: chunked'));
    client.send(chunk(Buffer.alloc(LIMIT + 1, 'c')));
    assertErrorAnswer(await client.readResponse(), 413);
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('answers 413 to a chunked body that comes whole with its head', async (run) => {
    await run.script(async (connection) => {
      await connection.hasMore();
    });
    const bytes = [post('Transfer-Encoding: chunked'), chunk(Buffer.alloc(LIMIT + 1, 'c')), '0\r\n\r\n'];
    const client = await run.send(Buffer.concat(bytes.map((part) => Buffer.from(part))));
    assertErrorAnswer(await client.readResponse(), 413);
    assert.equal((await client.readToEnd()).length, 0);
  });

  await proxied.test('delivers every refusal whose request came whole, with its body', async (run) => {
    const client = await run.send(`${post('Content-Length: 4', 'Expect: something\r\n')}body`);
    assertErrorAnswer(await client.readResponse(), 417);
    assert.equal((await client.readToEnd()).length, 0);
    assert.equal(run.app.accepted.length, 0);
  });
});
