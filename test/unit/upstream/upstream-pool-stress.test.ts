import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EndOfBytes } from '../../helpers/byte-reader.ts';
import { Random } from '../../helpers/random.ts';
import type { RecordingExchange } from '../../helpers/recording-exchange.ts';
import { respond, respondChunked, type ScriptedConnection } from '../../helpers/scripted-app.ts';
import { startPool } from '../../helpers/started-pool.ts';

const LONG = 'x'.repeat(150_000);

/** What the app does with a request, by the first part of its target; true when it goes on with the connection. */
const BEHAVIOURS: Record<string, (connection: ScriptedConnection, target: string) => boolean | Promise<boolean>> = {
  ok: (connection, target) => send(connection, respond(target)),
  chunked: (connection, target) => send(connection, respondChunked([target.slice(0, 3), target.slice(3)])),
  long: (connection, target) => send(connection, respond(LONG + target)),
  interim: (connection, target) => send(connection, `HTTP/1.1 103 Early Hints\r\n\r\n${respond(target)}`),
  pieces: async (connection, target) => {
    for (const char of respond(target)) await connection.sendAndFlush(char);
    return true;
  },
  last: (connection, target) => !send(connection, respond(target, { head: ['Connection: close'] })),
  untilClose: (connection, target) => leave(connection, `HTTP/1.1 200 OK\r\n\r\n${target}`),
  thenClose: (connection, target) => leave(connection, respond(target)),
  thenReset: (connection, target) => !send(connection, respond(target)) || reset(connection),
  stray: (connection, target) => send(connection, `${respond(target)}HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad`),
  late: async (connection, target) => {
    send(connection, respond(target));
    await nextTurn();
    return send(connection, 'x');
  },
  lost: (connection) => leave(connection, ''),
  reset: (connection) => reset(connection),
  half: (connection, target) => leave(connection, respond(target).slice(0, -2)),
  garbage: (connection) => send(connection, 'not HTTP at all\r\n\r\n'),
  silent: () => true,
};

function send(connection: ScriptedConnection, bytes: string): true {
  connection.send(bytes);
  return true;
}

function leave(connection: ScriptedConnection, bytes: string): false {
  connection.end(bytes);
  return false;
}

function reset(connection: ScriptedConnection): false {
  connection.reset();
  return false;
}

/** One request and what the app makes of it; true when another may follow. */
async function serveOne(connection: ScriptedConnection): Promise<boolean> {
  const head = await connection.readRequestHead(60_000);
  const [, mood, when] = head.target.split('/');
  if (when !== 'early') await connection.readRequestBody(head, 60_000);
  const goesOn = await BEHAVIOURS[mood!]!(connection, head.target);
  if (goesOn && when === 'early') await connection.readRequestBody(head, 60_000);
  return goesOn;
}

/** Of an app that leaves a request out, or sends something between two answers, nobody can tell which answer is whose. */
const OUT_OF_LINE = ['stray', 'late', 'silent'];

for (const [seed, pipelining] of [
  [1, 1],
  [2, 1],
  [3, 1],
  [4, 8],
  [5, 8],
  [6, 2],
] as const) {
  const name = `500 exchanges with an app of all moods end once each, with their own answers (seed ${seed}, ${pipelining} at a time)`;
  test(name, async (t) => {
    const random = new Random(seed);
    const {
      app,
      pool,
      send: dispatch,
    } = await startPool(
      t,
      async (connection) => {
        try {
          while (await serveOne(connection));
        } catch (error) {
          // A client may leave at any time; but what it sends must be a request.
          const isGone = error instanceof EndOfBytes || (error as NodeJS.ErrnoException).syscall === 'write';
          if (!isGone) throw error;
        }
      },
      { maxConnections: 8, pipelining },
    );
    const moods = Object.keys(BEHAVIOURS).filter((mood) => pipelining === 1 || !OUT_OF_LINE.includes(mood));
    const open = new Set<RecordingExchange>();
    let ended = 0;

    const giveUp = (exchange: RecordingExchange) => {
      exchange.isGivenUp = true;
      if (exchange.connections.length > 0) exchange.connection.abandon(exchange);
      pool.cancel(exchange);
      open.delete(exchange);
    };
    const start = (index: number) => {
      const mood = random.pick(moods);
      const isUpload = random.chance(0.3);
      const bodyBytes = random.pick([1, 10, 100_000]);
      const target = `/${mood}/${random.chance(0.5) ? 'early' : 'whole'}/${index}`;
      const giveUpIn = random.chance(0.15)
        ? random.pick(['onAssigned', 'onHead', 'onBody', 'onReadEnd'] as const)
        : undefined;
      const upload = (exchange: RecordingExchange) => {
        const piece = Buffer.alloc(bodyBytes / 2, 'a');
        exchange.write(piece);
        const finish = () => {
          if (exchange.isGivenUp || exchange.failure !== undefined) return;
          exchange.upload(Buffer.alloc(bodyBytes - piece.length, 'b'));
        };
        if (random.chance(0.5)) setImmediate(finish);
        else finish();
      };
      const method = isUpload ? 'POST' : random.pick(['GET', 'GET', 'POST']);
      const exchange = dispatch({
        target,
        method,
        isShareable: method === 'GET',
        hasRequestBody: isUpload,
        lines: isUpload ? [`Content-Length: ${bodyBytes}`] : [],
        on: {
          onAssigned: (each) => {
            if (giveUpIn === 'onAssigned') giveUp(each);
            else if (isUpload) upload(each);
          },
          onHead: (each) => {
            if (giveUpIn === 'onHead') giveUp(each);
          },
          onBody: (each) => {
            if (giveUpIn === 'onBody') giveUp(each);
            else if (random.chance(0.2)) {
              each.connection.pauseReading();
              setImmediate(() => {
                if (!each.isGivenUp && !each.isEnded && each.failure === undefined) each.connection.resumeReading();
              });
            }
          },
          onReadEnd: (each) => {
            if (giveUpIn === 'onReadEnd') giveUp(each);
          },
          onEnd: (each) => {
            const expected = mood === 'long' ? LONG + target : target;
            assert.equal(each.body, expected);
            ended += 1;
          },
        },
      });
      if (exchange.isGivenUp) return;
      open.add(exchange);
      // What never answers is given up by its client.
      if (mood === 'silent' || random.chance(0.02)) setTimeout(() => giveUpIfOpen(exchange), random.between(1, 20));
    };
    const isOver = (exchange: RecordingExchange) =>
      exchange.failure !== undefined || (exchange.isEnded && exchange.isRequestComplete);
    const giveUpIfOpen = (exchange: RecordingExchange) => {
      if (!isOver(exchange) && !exchange.isGivenUp) giveUp(exchange);
    };

    for (let index = 0; index < 500; index += 1) {
      start(index);
      while (open.size >= 24) {
        await nextTurn();
        for (const exchange of open) if (isOver(exchange)) open.delete(exchange);
      }
    }
    for (const exchange of open) {
      await exchange.until(() => isOver(exchange) || exchange.isGivenUp, 'the end of an exchange', 10_000);
    }
    assert.equal(pool.counters.inUse, 0);
    assert.equal(pool.counters.waiting, 0);
    assert.ok(ended > 150, `${ended} ended`);
    pool.close();
    await app.until((each) => each.connections === 0, 'every connection to be closed');
  });
}
