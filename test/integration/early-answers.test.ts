import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import type { RawSocket } from '../helpers/raw-socket.ts';
import { respond, type ScriptedConnection } from '../helpers/scripted-app.ts';

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
});
