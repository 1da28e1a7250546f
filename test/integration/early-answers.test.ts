import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedConnection } from '../helpers/scripted-app.ts';

const PIECE = Buffer.alloc(64 * 1024, 'u');
const PIECES = 64;
const ANSWER = respond('too large', { status: '413 Content Too Large', head: ['X-From: app'] });

interface Upload {
  readonly head: string;
  frame(piece: Buffer): Buffer;
  readonly end: string;
}

const UPLOADS: Readonly<Record<string, Upload>> = {
  'by length': {
    head: `POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: ${PIECE.length * PIECES}\r\n\r\n`,
    frame: (piece) => piece,
    end: '',
  },
  'by chunks': {
    head: 'POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
    frame: (piece) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    end: '0\r\n\r\n',
  },
};

/** Sends the upload to its end, or as far as it gets; the client reads its answer meanwhile. */
async function upload(client: RawSocket, { head, frame, end }: Upload): Promise<void> {
  client.send(head);
  try {
    for (let count = 0; count < PIECES; count += 1) await client.sendAndFlush(frame(PIECE));
    if (end !== '') await client.sendAndFlush(end);
  } catch {
    // The connection may be closed once the answer is out.
  }
}

async function assertAnswered(run: ProxiedCase, form: Upload, app: (connection: ScriptedConnection) => Promise<void>) {
  await run.script(app);
  const client = await run.connect();
  const sending = upload(client, form);
  const response = await client.readResponse();
  assert.equal(response.status, 413);
  assert.equal(response.headers.get('x-from'), 'app');
  assert.equal(response.body.toString(), 'too large');
  client.destroy();
  await sending;
}

test('an answer before the upload is complete', async (t) => {
  const proxied = await startProxiedApp(t);

  for (const [how, form] of Object.entries(UPLOADS)) {
    const reactions: readonly [string, (connection: ScriptedConnection) => void][] = [
      ['reads on', () => {}],
      ['reads no more', (connection) => connection.pause()],
      ['closes', (connection) => connection.end()],
      ['destroys', (connection) => connection.socket.destroy()],
    ];
    for (const [what, react] of reactions) {
      await proxied.test(`reaches a client that uploads ${how} when the app ${what}`, async (run) => {
        for (const readBytes of [0, 1, 200_000]) {
          await assertAnswered(run, form, async (connection) => {
            await connection.readRequestHead();
            await connection.readExactly(readBytes);
            await connection.sendAndFlush(ANSWER);
            react(connection);
          });
        }
      });
    }

    await proxied.test(
      `reaches a client that uploads ${how} when the app resets right after it, 50 times`,
      async (run) => {
        for (let count = 0; count < 50; count += 1) {
          await assertAnswered(run, form, async (connection) => {
            await connection.readRequestHead();
            await connection.readExactly(count * 1000);
            await connection.sendAndFlush(ANSWER);
            connection.reset();
          });
        }
      },
    );
  }

  for (const [how, form] of Object.entries(UPLOADS)) {
    await proxied.test(`leaves the rest of an upload ${how} unread, and nothing of it is a request`, async (run) => {
      const smuggled = Buffer.alloc(PIECE.length, 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n');
      const targets: string[] = [];
      await run.script(async (connection) => {
        const { target } = await connection.readRequestHead();
        targets.push(target);
        connection.send(target === '/up' ? ANSWER : respond('next'));
      });
      const client = await run.send(form.head);
      assert.equal((await client.readResponse()).status, 413);
      for (let count = 0; count < PIECES; count += 1) await client.sendAndFlush(form.frame(smuggled));
      client.send(`${form.end}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await client.readResponse()).body.toString(), 'next');
      assert.deepEqual(targets, ['/up', '/next']);
    });

    await proxied.test(
      `flows while the upload ${how} does, byte by byte, and leaves both connections in use`,
      async (run) => {
        const isChunked = form.end !== '';
        const framing = isChunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 3';
        await run.script(async (connection) => {
          await connection.readRequestHead();
          connection.send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
          // Echoes the frame, whatever it is.
          for (const letter of 'xyz') connection.send(await connection.readUntil(isChunked ? `${letter}\r\n` : letter));
          if (isChunked) connection.send(await connection.readUntil('0\r\n\r\n'));
          await eachRequest(() => respond('next'))(connection, connection.index);
        });
        const client = await run.send(`POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
        for (const letter of 'xyz') {
          client.send(form.frame(Buffer.from(letter)));
          await client.readUntil(letter);
        }
        client.send(form.end);
        if (isChunked) await client.readUntil('0\r\n\r\n');
        client.send(GET);
        assert.equal((await client.readResponse()).body.toString(), 'next');
        assert.equal(run.app.accepted.length, 1);
      },
    );

    await proxied.test(`waits for the end of an upload ${how} when it is a success`, async (run) => {
      let uploaded = 0;
      await run.script(async (connection) => {
        const head = await connection.readRequestHead();
        await connection.sendAndFlush(respond('early'));
        uploaded = (await connection.readRequestBody(head)).body.length;
        await eachRequest(() => respond('next'))(connection, connection.index);
      });
      const client = await run.send(form.head);
      for (let count = 0; count < PIECES; count += 1) await client.sendAndFlush(form.frame(PIECE));
      client.send(form.end);
      assert.equal((await client.readResponse()).body.toString(), 'early');
      client.send(GET);
      assert.equal((await client.readResponse()).body.toString(), 'next');
      assert.equal(uploaded, PIECE.length * PIECES);
      assert.equal(run.app.accepted.length, 1);
    });
  }

  await proxied.test('comes alone when the app takes the upload of a success no further', async (run) => {
    for (const lose of ['end', 'reset'] as const) {
      await run.script(async (connection) => {
        await connection.readRequestHead();
        await connection.sendAndFlush(respond('early'));
        connection[lose]();
      });
      const client = await run.send(UPLOADS['by length']!.head);
      assert.equal((await client.readResponse()).body.toString(), 'early');
    }
  });
});
