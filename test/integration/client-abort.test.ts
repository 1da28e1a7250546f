import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDeafApp } from '../helpers/deaf-app.ts';
import { GET, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { connectRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { eachRequest, respond, type ScriptedConnection } from '../helpers/scripted-app.ts';
import { settled } from '../helpers/settled.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { until } from '../helpers/until.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const PIECE = Buffer.alloc(1_000_000, 'u');
const UPLOAD = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n';
const CHUNKED_UPLOAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

interface Phase {
  readonly what: string;
  readonly request: string;
  /** What the app does with the request; when it is done, the client may leave. */
  app(connection: ScriptedConnection): Promise<void>;
  /** What the client waits for, or sends, before it leaves. */
  client?(client: RawSocket): Promise<unknown>;
}

const readHead = async (connection: ScriptedConnection) => void (await connection.readRequestHead());

const PHASES: readonly Phase[] = [
  { what: 'while the app thinks', request: GET, app: readHead },
  { what: 'while the app thinks about a whole body', request: `${UPLOAD.replace('100000000', '3')}abc`, app: readHead },
  {
    what: 'after the head of the answer, which waits for its first byte',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      await connection.sendAndFlush('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    },
  },
  {
    what: 'in an answer by length',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsent');
    },
    client: (client) => client.readUntil('sent'),
  },
  {
    what: 'in an answer by chunks',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsent\r\n');
    },
    client: (client) => client.readUntil('sent'),
  },
  {
    what: 'in an answer that the end of the connection ends',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\n\r\nsent');
    },
    client: (client) => client.readUntil('sent'),
  },
  {
    what: 'in an event stream that is silent',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
    },
    client: (client) => client.readUntil(':\n\n'),
  },
  {
    what: 'in an answer that it has not read',
    request: GET,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
      connection.send(Buffer.alloc(20_000_000));
    },
    client: async (client) => {
      await client.readUntil('\r\n\r\n');
      client.pause();
    },
  },
  { what: 'before the body of its upload', request: UPLOAD, app: readHead },
  {
    what: 'in an upload by length',
    request: `${UPLOAD}sent`,
    app: async (connection) => {
      await connection.readRequestHead();
      await connection.readExactly(4);
    },
  },
  {
    what: 'in an upload by chunks',
    request: `${CHUNKED_UPLOAD}4\r\nsent\r\n`,
    app: async (connection) => {
      await connection.readRequestHead();
      await connection.readUntil('sent');
    },
  },
  {
    what: 'inside a chunk',
    request: `${CHUNKED_UPLOAD}40\r\nsent`,
    app: async (connection) => {
      await connection.readRequestHead();
      await connection.readUntil('sent');
    },
  },
  {
    what: 'in an upload that has its answer already',
    request: UPLOAD,
    app: async (connection) => {
      await connection.readRequestHead();
      await connection.sendAndFlush(respond('early'));
    },
  },
  {
    what: 'in an upload whose answer has begun',
    request: UPLOAD,
    app: async (connection) => {
      await connection.readRequestHead();
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsent');
    },
    client: (client) => client.readUntil('sent'),
  },
];

/** Takes the case to its phase: the app has done its part, and the client its own. */
async function reach(run: ProxiedCase, phase: Phase): Promise<{ client: RawSocket; connection: ScriptedConnection }> {
  const reached = new Promise<void>((resolve) => {
    void run.script(async (connection) => {
      await phase.app(connection);
      resolve();
    });
  });
  const client = await run.send(phase.request);
  await withTimeout(reached, 'the app to do its part');
  await phase.client?.(client);
  return { client, connection: run.app.accepted[0]! };
}

const LEAVES: readonly [string, (client: RawSocket) => void][] = [
  ['closes', (client) => client.destroy()],
  ['resets', (client) => client.reset()],
  ['ends its half', (client) => client.end()],
];

test('a client that leaves', async (t) => {
  const proxied = await startProxiedApp(t);

  for (const phase of PHASES) {
    for (const [how, leave] of LEAVES) {
      await proxied.test(`${phase.what} (${how}) takes its connection to the app along`, async (run) => {
        const { client, connection } = await reach(run, phase);
        leave(client);
        await withTimeout(connection.closed, 'the connection to the app to be closed');
        assert.ok(!connection.unread.includes('0\r\n\r\n'), 'an upload that is cut looks complete');
        // Half a connection is none for uWebSockets.js: it closes, and what was still to be answered is lost.
        client.resume();
        if (how === 'ends its half') await client.closed;
      });
    }
  }
});

test('a client that leaves while its request waits for a connection is forgotten', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_APP_CONNECTIONS: '1' } });
  for (const [how, leave] of LEAVES) {
    for (const request of [GET, `${UPLOAD}sent`]) {
      await proxied.test(`${how} after ${request.slice(0, 4).trim()}`, async (run) => {
        let release = () => {};
        const targets: string[] = [];
        await run.script(
          eachRequest(async ({ target }) => {
            targets.push(target);
            if (target === '/first') await new Promise<void>((resolve) => (release = resolve));
            return respond('ok');
          }),
        );
        const first = await run.send('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
        await run.app.until((app) => app.requests === 1, 'the first request');
        const open = run.uwsrp.openFiles();
        const second = await run.send(request);
        await until(() => run.uwsrp.openFiles() === open + 1, 'the second client to be accepted');
        leave(second);
        await until(() => run.uwsrp.openFiles() === open, 'the second client to be let go');
        release();
        assert.equal((await first.readResponse()).status, 200);
        const third = await run.send('GET /third HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await third.readResponse()).status, 200);
        assert.deepEqual(targets, ['/first', '/third']);
      });
    }
  }
});

/** Uploads until the app, which reads nothing, holds the client back. */
async function uploadUntilHeldBack(run: ProxiedCase): Promise<RawSocket> {
  let sent = 0;
  const client = await run.send(UPLOAD);
  void (async () => {
    for (;;) {
      await client.sendAndFlush(PIECE);
      sent += PIECE.length;
    }
  })().catch(() => {});
  await run.app.until((app) => app.requests === 1, 'the head at the app');
  await settled(() => sent);
  assert.ok(sent < 100_000_000, `${sent} bytes were taken from the client`);
  return client;
}

// uWebSockets.js looks at no connection that it holds back, not even for a reset.
test('a client that leaves while the app holds it back', async (t) => {
  const script = async (connection: ScriptedConnection) => {
    await connection.readRequestHead();
    connection.pause();
  };

  const proxied = await startProxiedApp(t);
  for (const [how, leave] of LEAVES) {
    await proxied.test(`(${how}) takes its connection to the app along as soon as the app reads on`, async (run) => {
      await run.script(script);
      leave(await uploadUntilHeldBack(run));
      const connection = run.app.accepted[0]!;
      connection.resume();
      await withTimeout(connection.closed, 'the connection to the app to be closed');
      assert.ok(connection.socket.bytesRead < 100_000_000, 'an upload that is cut came whole');
    });
  }

  const impatient = await startProxiedApp(t, { env: { UWSRP_RESPONSE_TIMEOUT: '1s' } });
  for (const [how, leave] of LEAVES) {
    await impatient.test(
      `(${how}) is let go of after UWSRP_RESPONSE_TIMEOUT, though the app never does`,
      async (run) => {
        const open = run.uwsrp.openFiles();
        await run.script(script);
        leave(await uploadUntilHeldBack(run));
        await until(() => run.uwsrp.openFiles() === open, 'both connections to be let go of', 15_000);
      },
    );
  }
});

test('while uwsrp still connects takes that connection along', async (t) => {
  const deaf = await startDeafApp(t);
  const uwsrp = await startUwsrp(t, { appPort: deaf.port });
  const idle = uwsrp.openFiles();
  for (const leave of ['destroy', 'reset', 'end'] as const) {
    const client = await connectRaw(uwsrp.port, t);
    client.send(GET);
    await until(() => uwsrp.openFiles() === idle + 2, 'the connections to client and app');
    client[leave]();
    await until(() => uwsrp.openFiles() === idle, 'both connections to be closed');
  }
});
