import { AssertionError } from 'node:assert/strict';
import type { Random } from './random.ts';
import { type AppRequestHead, respond, type ScriptedConnection } from './scripted-app.ts';

/**
 * What a moody app does with a request. The client chooses it, by the path of its request
 * (`/<id>/<mood>/<bytes of the answer>/<bytes of the upload>`), so that it knows what may come out.
 */
export const MOODS = {
  /** The answer is right. */
  right: ['length', 'chunked', 'until-close', 'interim', 'late', 'in-pieces', 'last', 'leaving', 'extra'],
  /** The answer cannot be used, and nothing of it was on its way to the client. */
  wrong: ['fin', 'reset', 'garbage', 'two-lengths', 'bad-chunk', 'interim-flood', 'fin-in-head'],
  /** The answer breaks off in the middle. */
  broken: ['length-fin', 'length-reset', 'chunk-fin', 'chunk-reset', 'chunk-garbage'],
  /** 413 before the body was read. */
  early: ['early', 'early-fin', 'early-reset'],
  /** No answer at all. */
  silent: ['stall'],
} as const;

export type Mood = (typeof MOODS)[keyof typeof MOODS][number];

/** Bytes that belong to one request and to no other. */
export const bytesFor = (id: string, count: number): Buffer =>
  count === 0 ? Buffer.alloc(0) : Buffer.alloc(count, id);

/** Answers requests in the mood that they ask for, and reports what should never reach an app. */
export class MoodyApp {
  readonly complaints: string[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  readonly script = async (connection: ScriptedConnection): Promise<void> => {
    try {
      // What comes once it has ended its half may be the rest of a body that it did not want.
      while (connection.socket.writable && (await connection.hasMore(60_000))) {
        await this.#serve(connection, await connection.readRequestHead());
      }
    } catch (error) {
      // Anything else says that the other side left, which it may at any time.
      if (error instanceof AssertionError)
        this.complaints.push(`the app got something odd: ${error.message.slice(0, 300)}`);
    }
    connection.end();
  };

  async #serve(connection: ScriptedConnection, head: AppRequestHead): Promise<void> {
    const [, id, mood, size, uploadSize] = head.target.split('/') as [string, string, Mood, string, string];
    if (!mood.startsWith('early')) {
      const { body } = await connection.readRequestBody(head, 60_000);
      if (!body.equals(bytesFor(`${id}u`, Number(uploadSize)))) {
        this.complaints.push(`the body of ${head.target} came with ${body.length} bytes, or with wrong ones`);
      }
    }
    await this.#answer(connection, id, mood, bytesFor(id, Number(size)), head);
  }

  async #answer(
    connection: ScriptedConnection,
    id: string,
    mood: Mood,
    fullBody: Buffer,
    head: AppRequestHead,
  ): Promise<void> {
    // Bytes that come by themselves behind an answer to HEAD, which is whole, would be the next request's trouble.
    const isHead = head.method === 'HEAD';
    const body = isHead ? Buffer.alloc(0) : fullBody;
    const start = `HTTP/1.1 200 OK\r\nX-Id: ${id}\r\n`;
    const end = Buffer.concat([Buffer.from(`Content-Length: ${fullBody.length}\r\n\r\n`), body]);
    const whole = Buffer.concat([Buffer.from(start), end]);
    const half = Math.floor(body.length / 2);
    const early = respond(`early ${id}`, { status: '413 Content Too Large' });
    switch (mood) {
      case 'length':
        return connection.send(whole);
      case 'chunked':
        connection.send(`${start}Transfer-Encoding: chunked\r\n\r\n`);
        return isHead ? undefined : this.#sendChunks(connection, body);
      case 'until-close':
        connection.send(`${start}\r\n`);
        return connection.end(body);
      case 'interim':
        connection.send('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'.repeat(this.#random.between(1, 5)));
        return connection.send(whole);
      case 'late':
        await pause(this.#random.between(0, 30));
        return connection.send(whole);
      case 'in-pieces':
        return this.#sendPieces(connection, whole);
      case 'last':
        return connection.send(Buffer.concat([Buffer.from(`${start}Connection: close\r\n`), end]));
      case 'leaving':
        return connection.end(whole);
      case 'extra':
        return connection.send(Buffer.concat([whole, Buffer.from('what nobody asked for')]));
      case 'fin':
        return connection.end();
      case 'reset':
        return connection.reset();
      case 'garbage':
        return connection.send('SSH-2.0-OpenSSH_9.2\r\n');
      case 'two-lengths':
        return connection.send(`${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`);
      case 'bad-chunk':
        return connection.send(`${start}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
      case 'interim-flood':
        return connection.send('HTTP/1.1 100 Continue\r\n\r\n'.repeat(40));
      case 'fin-in-head':
        return connection.end(start);
      case 'length-fin':
      case 'length-reset':
        await connection.sendAndFlush(`${start}Content-Length: ${body.length + 10}\r\n\r\n`);
        await connection.sendAndFlush(body);
        return mood === 'length-fin' ? connection.end() : connection.reset();
      case 'chunk-fin':
      case 'chunk-reset':
      case 'chunk-garbage':
        await connection.sendAndFlush(`${start}Transfer-Encoding: chunked\r\n\r\n`);
        if (!isHead) {
          await connection.sendAndFlush(`${(body.length + 10).toString(16)}\r\n`);
          await connection.sendAndFlush(body.subarray(0, half));
        }
        if (mood === 'chunk-garbage')
          return isHead ? undefined : connection.send(Buffer.concat([body.subarray(half), Buffer.alloc(12, 'g')]));
        return mood === 'chunk-fin' ? connection.end() : connection.reset();
      case 'early':
        connection.send(early);
        await connection.readRequestBody(head, 60_000);
        return;
      case 'early-fin':
        return connection.end(early);
      case 'early-reset':
        await connection.sendAndFlush(early);
        return connection.reset();
      case 'stall':
        await connection.closed;
    }
  }

  #sendChunks(connection: ScriptedConnection, body: Buffer): void {
    for (let at = 0; at < body.length; ) {
      const chunk = body.subarray(at, at + this.#random.between(1, 40_000));
      connection.send(`${chunk.length.toString(16)}\r\n`);
      connection.send(chunk);
      connection.send('\r\n');
      at += chunk.length;
    }
    connection.send('0\r\n\r\n');
  }

  async #sendPieces(connection: ScriptedConnection, whole: Buffer): Promise<void> {
    for (let at = 0; at < whole.length; ) {
      const size = this.#random.between(1, Math.max(1, Math.ceil(whole.length / 10)));
      connection.send(whole.subarray(at, at + size));
      at += size;
      await pause(0);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
}
