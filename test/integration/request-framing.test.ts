import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { forward, head, record } from '../helpers/request-case.ts';
import { type AppRequest, respond, type ScriptedConnection } from '../helpers/scripted-app.ts';
import { until } from '../helpers/until.ts';

const MIB = 1024 * 1024;

/** Sends a body in pieces, each as a chunk if the request is chunked, as fast as it is taken. */
async function upload(run: ProxiedCase, requestHead: string, pieces: Iterable<Buffer>): Promise<number> {
  const client = await run.send(requestHead);
  const isChunked = /transfer-encoding/i.test(requestHead);
  for (const piece of pieces) {
    if (isChunked) client.send(`${piece.length.toString(16)}\r\n`);
    await client.sendAndFlush(piece);
    if (isChunked) client.send('\r\n');
    // A write that the kernel takes at once does not let other events in.
    await turn();
  }
  if (isChunked) client.send('0\r\n\r\n');
  return (await client.readResponse({ timeoutMs: 20_000 })).status;
}

/** Scripts the app to read one request, and to tell its framing and the hash of its body. */
async function hashAtApp(run: ProxiedCase, onHead: (connection: ScriptedConnection) => Promise<void> = async () => {}) {
  const result = { framing: '', length: 0, hash: '' };
  await run.script(async (connection) => {
    const request = await connection.readRequestHead();
    await onHead(connection);
    const { body } = await connection.readRequestBody(request, 20_000);
    result.framing = request.framing;
    result.length = body.length;
    result.hash = createHash('sha256').update(body).digest('hex');
    connection.send(respond('ok'));
  });
  return result;
}

test('the framing of a request', async (t) => {
  const proxied = await startProxiedApp(t);

  const framingOf = ({ headers, body }: AppRequest) => ({
    length: headers.get('content-length'),
    coding: headers.get('transfer-encoding'),
    body: body.toString(),
  });

  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'QUERY']) {
    await proxied.test(`gives ${method} without a body neither a length nor a coding`, async (run) => {
      const expected = { length: undefined, coding: undefined, body: '' };
      assert.deepEqual(framingOf(await forward(run, head(`${method} / HTTP/1.1`))), expected);
    });

    await proxied.test(`keeps the length of 0 of ${method}`, async (run) => {
      const expected = { length: '0', coding: undefined, body: '' };
      assert.deepEqual(framingOf(await forward(run, head(`${method} / HTTP/1.1`, 'Content-Length: 0'))), expected);
    });

    await proxied.test(`hands on the body of ${method} with its length`, async (run) => {
      const request = `${head(`${method} / HTTP/1.1`, 'Content-Length: 5')}hello`;
      assert.deepEqual(framingOf(await forward(run, request)), { length: '5', coding: undefined, body: 'hello' });
    });

    await proxied.test(`hands on the chunked body of ${method} in chunks`, async (run) => {
      const request = `${head(`${method} / HTTP/1.1`, 'Transfer-Encoding: chunked')}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`;
      assert.deepEqual(framingOf(await forward(run, request)), {
        length: undefined,
        coding: 'chunked',
        body: 'hello!',
      });
    });

    await proxied.test(`hands on the empty chunked body of ${method} as one`, async (run) => {
      const request = `${head(`${method} / HTTP/1.1`, 'Transfer-Encoding: chunked')}0\r\n\r\n`;
      assert.deepEqual(framingOf(await forward(run, request)), { length: undefined, coding: 'chunked', body: '' });
    });
  }

  for (const size of ['a', 'A', '0a', '00000000000000000000000a']) {
    await proxied.test(`reads the chunk size ${size}`, async (run) => {
      const request = `${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked')}${size}\r\n0123456789\r\n0\r\n\r\n`;
      assert.equal((await forward(run, request)).body.toString(), '0123456789');
    });
  }

  await proxied.test('serves the next request on the connection after each kind of body', async (run) => {
    const seen = await record(run);
    const client = await run.connect();
    const requests = [
      `${head('POST /1 HTTP/1.1', 'Content-Length: 5')}hello`,
      `${head('POST /2 HTTP/1.1', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`,
      head('POST /3 HTTP/1.1', 'Content-Length: 0'),
      `${head('DELETE /4 HTTP/1.1', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
      head('GET /5 HTTP/1.1'),
    ];
    for (const request of requests) {
      client.send(request);
      assert.equal((await client.readResponse()).status, 200);
    }
    assert.deepEqual(
      seen.map(({ target, body }) => `${target} ${body}`),
      ['/1 hello', '/2 hello', '/3 ', '/4 ', '/5 '],
    );
    assert.equal(run.app.accepted.length, 1);
  });

  for (const [name, chunkSize, total] of [
    ['one byte', 1, 2000],
    ['64 KiB', 64 * 1024, 4 * MIB],
    ['1 MiB', MIB, 8 * MIB],
  ] as const) {
    await proxied.test(`hands on every byte of an upload in chunks of ${name}`, async (run) => {
      const result = await hashAtApp(run);
      const source = Buffer.concat([...patternOf(total)]);
      const pieces = Array.from({ length: total / chunkSize }, (_, index) =>
        source.subarray(index * chunkSize, (index + 1) * chunkSize),
      );
      assert.equal(await upload(run, head('POST / HTTP/1.1', 'Transfer-Encoding: chunked'), pieces), 200);
      assert.deepEqual(result, { framing: 'chunked', length: total, hash: patternHash(total) });
    });
  }

  for (const field of ['Content-Length: 52428800', 'Transfer-Encoding: chunked']) {
    await proxied.test(`hands on every byte of 50 MiB to an app that is slow to read (${field})`, async (run) => {
      const result = await hashAtApp(run, async (connection) => {
        // Until nothing moves any more: the kernel's buffers and ours are full.
        connection.pause();
        let bytes = 0;
        let looks = 0;
        await until(() => {
          looks = bytes === sentBytes ? looks + 1 : 0;
          bytes = sentBytes;
          return looks === 10;
        }, 'the upload to be held back');
        assert.ok(sentBytes < 40 * MIB, `${sentBytes} bytes were taken from the client`);
        connection.resume();
      });
      let sentBytes = 0;
      const pieces = (function* () {
        for (const piece of patternOf(50 * MIB)) {
          yield piece;
          sentBytes += piece.length;
        }
      })();
      assert.equal(await upload(run, head('POST / HTTP/1.1', field), pieces), 200);
      assert.equal(result.length, 50 * MIB);
      assert.equal(result.hash, patternHash(50 * MIB));
    });
  }

  for (const leave of ['end', 'reset'] as const) {
    for (const [name, field, part] of [
      ['length', 'Content-Length: 5', 'hel'],
      ['length, before its first byte', 'Content-Length: 5', ''],
      ['chunk', 'Transfer-Encoding: chunked', '5\r\nhel'],
      ['chunk size', 'Transfer-Encoding: chunked', '5\r\nhello\r\n1'],
      ['list of chunks', 'Transfer-Encoding: chunked', '5\r\nhello\r\n'],
      ['last chunk', 'Transfer-Encoding: chunked', '5\r\nhello\r\n0'],
    ] as const) {
      await proxied.test(
        `cuts the body at the app when the client leaves (${leave}) within its ${name}`,
        async (run) => {
          let rest = '';
          await run.script(async (connection) => {
            await connection.readRequestHead();
            await connection.closed;
            rest = connection.unread.toString('latin1');
          });
          const client = await run.send(`${head('PUT / HTTP/1.1', field)}${part}`);
          await run.app.until((app) => app.requests === 1, 'the head at the app');
          client[leave]();
          await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
          assert.doesNotMatch(rest, /0\r\n\r\n$|^hello/);
          // PUT may be repeated, but not with half a body.
          assert.equal(run.app.accepted.length, 1);
        },
      );
    }
  }

  await proxied.test(
    'takes a chunked body as whole with its last chunk, before the empty line behind it',
    async (run) => {
      const request = `${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n`;
      assert.equal((await forward(run, request)).body.toString(), 'hello');
    },
  );

  for (const length of ['2147483653', '4294967301', '8589934597', '1000000000000000', '9007199254740991']) {
    await proxied.test(`keeps the length ${length} exactly, and waits for as many bytes`, async (run) => {
      const next = head('GET /next HTTP/1.1');
      await run.script(async (connection) => {
        const request = await connection.readRequestHead();
        assert.equal(request.headers.get('content-length'), length);
        // Modulo 2^31 or 2^32 the first three lengths are 5.
        assert.equal((await connection.readExactly(5 + next.length)).toString(), `hello${next}`);
        await connection.closed;
      });
      const client = await run.send(`${head('POST / HTTP/1.1', `Content-Length: ${length}`)}hello`);
      client.send(next);
      await run.app.until((app) => app.requests === 1, 'the head at the app');
      await until(() => run.app.accepted[0]!.socket.bytesRead > next.length, 'the bytes at the app');
      assert.equal(client.receivedLength, 0);
      client.destroy();
      await run.app.until((app) => app.connections === 0, 'the connection to the app to be closed');
    });
  }
});
