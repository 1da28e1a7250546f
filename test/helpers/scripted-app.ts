import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ByteReader, EndOfBytes } from './byte-reader.ts';
import { type Body, type Fields, type Framing, framingOf, readBody, readHead } from './http-message.ts';
import type { Ending } from './raw-socket.ts';
import { withTimeout } from './timeout.ts';

export interface AppRequestHead {
  readonly requestLine: string;
  readonly method: string;
  /** The request target, byte for byte. */
  readonly target: string;
  readonly version: string;
  readonly headers: Fields;
  readonly framing: Framing;
  /** The whole head as it came. */
  readonly rawHead: Buffer;
}

export type AppRequest = AppRequestHead & Body;

/** One connection to the app, read and answered by the test's script. */
export class ScriptedConnection {
  /** Position of this connection, from 0, in the order of accepting. */
  readonly index: number;
  readonly socket: Socket;
  /** How the other side ended its half. */
  readonly closed: Promise<Ending>;
  readonly #reader = new ByteReader();
  readonly #onRequest: () => void;

  constructor(socket: Socket, index: number, onRequest: () => void) {
    this.socket = socket;
    this.index = index;
    this.#onRequest = onRequest;
    socket.setNoDelay(true);
    let error: NodeJS.ErrnoException | undefined;
    socket.on('data', (chunk: Buffer) => this.#reader.push(chunk));
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      error = cause;
    });
    this.closed = new Promise((resolve) => {
      socket.on('end', () => resolve('fin'));
      socket.on('close', () => {
        const isReset = error?.code === 'ECONNRESET' || error?.code === 'EPIPE';
        resolve(isReset ? 'reset' : (error?.code ?? 'destroyed'));
      });
    });
    void this.closed.then(() => this.#reader.finish());
  }

  /** What came and was not read yet. */
  get unread(): Buffer {
    return this.#reader.pending;
  }

  /** The next request, head and body by its framing. Throws `EndOfBytes` when the connection ends first. */
  async readRequest(timeoutMs = 5000): Promise<AppRequest> {
    const head = await this.readRequestHead(timeoutMs);
    return { ...head, ...(await this.readRequestBody(head, timeoutMs)) };
  }

  /** Only the head: for answers that come before the body, and bodies that are read in part. */
  async readRequestHead(timeoutMs = 5000): Promise<AppRequestHead> {
    const { startLine, headers, raw } = await readHead(this.#reader, 'the head of a request', timeoutMs);
    const match = /^([^ ]+) ([^ ]+) (HTTP\/\d\.\d)$/.exec(startLine);
    assert.ok(match, `not a request line: ${JSON.stringify(startLine)}`);
    this.#onRequest();
    const [requestLine, method, target, version] = match as unknown as [string, string, string, string];
    return { requestLine, method, target, version, headers, framing: framingOf(headers, 'none'), rawHead: raw };
  }

  readRequestBody(head: AppRequestHead, timeoutMs = 5000): Promise<Body> {
    return readBody(this.#reader, head.headers, head.framing, timeoutMs);
  }

  readExactly(count: number, timeoutMs?: number): Promise<Buffer> {
    return this.#reader.readExactly(count, undefined, timeoutMs);
  }

  async readUntil(mark: string | ((bytes: Buffer) => number), timeoutMs?: number): Promise<string> {
    return (await this.#reader.readUntil(mark, undefined, timeoutMs)).toString('latin1');
  }

  /** Waits for at least one byte more; false when the other side ended instead. */
  hasMore(timeoutMs?: number): Promise<boolean> {
    return this.#reader.hasMore(undefined, timeoutMs);
  }

  /** Text is written as latin-1: one char is one byte. */
  send(data: string | Buffer): void {
    this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
  }

  /** Like `send`, and waits until the kernel took the bytes. */
  sendAndFlush(data: string | Buffer): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    return new Promise((resolve, reject) => {
      this.socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Sends the rest, if any, then FIN. */
  end(data?: string | Buffer): void {
    if (data !== undefined) this.send(data);
    this.socket.end();
  }

  /** Sends RST. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Stops reading what the other side sends. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }
}

export type ConnectionScript = (connection: ScriptedConnection, index: number) => Promise<void> | void;

export class ScriptedApp {
  /** 0 on a unix socket. */
  port = 0;
  /** Request heads read so far. */
  requests = 0;
  /** Connections open now. */
  connections = 0;
  /** Every connection ever accepted, in order. */
  readonly accepted: ScriptedConnection[] = [];
  readonly #server: Server;
  readonly #failures: unknown[] = [];
  #script: ConnectionScript;
  #waiting: (() => void)[] = [];

  constructor(script: ConnectionScript) {
    this.#script = script;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.connections += 1;
      socket.on('close', () => {
        this.connections -= 1;
        this.#announce();
      });
      const connection = new ScriptedConnection(socket, this.accepted.length, () => {
        this.requests += 1;
        this.#announce();
      });
      this.accepted.push(connection);
      this.#announce();
      void this.#follow(connection);
    });
  }

  async listen(where: { host: string; port: number } | { path: string }): Promise<void> {
    this.#server.listen(where);
    await once(this.#server, 'listening');
    // In the image the product is another user than the one who runs the tests.
    if ('path' in where) chmodSync(where.path, 0o777);
    const address = this.#server.address();
    if (address !== null && typeof address === 'object') this.port = address.port;
  }

  /** Waits until the counters are as the function asks: `until((app) => app.connections === 0, 'no connection')`. */
  async until(condition: (app: ScriptedApp) => boolean, what: string, ms = 5000): Promise<void> {
    const deadline = Date.now() + ms;
    while (!condition(this)) {
      const change = new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      const state = () =>
        `${what}; now ${this.connections} open, ${this.accepted.length} accepted, ${this.requests} requests`;
      await withTimeout(change, state, Math.max(1, deadline - Date.now()));
    }
  }

  /** Stops listening and cuts what is open; safe to call twice. Throws what a script threw. */
  async stop(): Promise<void> {
    for (const { socket } of this.accepted) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#throwFailure();
  }

  /**
   * Begins anew with another script and counters at 0, still listening. What is open is ended first, and is gone on
   * both sides when this resolves, so that nothing is left over from one case to the next. Throws what the script threw.
   */
  async restart(script: ConnectionScript): Promise<void> {
    for (const connection of this.accepted) {
      connection.resume();
      connection.end();
    }
    await this.until((app) => app.connections === 0, 'the other side to close its connections');
    this.#script = script;
    this.accepted.length = 0;
    this.requests = 0;
    this.#throwFailure();
  }

  #throwFailure(): void {
    const [failure] = this.#failures.splice(0);
    if (failure !== undefined) throw failure;
  }

  #announce(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #follow(connection: ScriptedConnection): Promise<void> {
    try {
      await this.#script(connection, connection.index);
    } catch (error) {
      // A peer that goes away is the normal end of a script that waits for the next request.
      if (error instanceof EndOfBytes && error.pending.length === 0) return;
      this.#failures.push(error);
      connection.socket.destroy();
    } finally {
      // The sockets are half-open: without this, one that the other side closed would count as open for ever.
      void connection.closed.then(() => connection.end());
    }
  }
}

/**
 * A server in the role of the app whose every byte the test decides, on a free port of 127.0.0.1 (or `host`, `port`),
 * or on a unix socket. A script that throws fails the test when the app is stopped, after the test at the latest.
 */
export async function startScriptedApp(
  t: TestContext,
  script: ConnectionScript,
  where: { host?: string; port?: number } | { path: string } = {},
): Promise<ScriptedApp> {
  const app = new ScriptedApp(script);
  t.after(() => app.stop());
  await app.listen('path' in where ? where : { host: where.host ?? '127.0.0.1', port: where.port ?? 0 });
  return app;
}

/** A script that answers every request of every connection alike: `startScriptedApp(t, eachRequest(() => respond('ok')))`. */
export function eachRequest(
  answer: (request: AppRequest, connection: ScriptedConnection) => string | Buffer | Promise<string | Buffer>,
): ConnectionScript {
  return async (connection) => {
    while (await connection.hasMore(60_000)) {
      const request = await connection.readRequest();
      connection.send(await answer(request, connection));
    }
    connection.end();
  };
}

/** The text of a response with a Content-Length. `head` holds further header lines, without line ends. */
export function respond(body: string, options: { status?: string; head?: readonly string[] } = {}): string {
  const { status = '200 OK', head = [] } = options;
  const lines = [`HTTP/1.1 ${status}`, ...head, `Content-Length: ${Buffer.byteLength(body, 'latin1')}`];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** The text of a chunked response, one chunk a part. */
export function respondChunked(parts: readonly string[], options: { head?: readonly string[] } = {}): string {
  const lines = ['HTTP/1.1 200 OK', ...(options.head ?? []), 'Transfer-Encoding: chunked'];
  const chunks = parts.map((part) => `${Buffer.byteLength(part, 'latin1').toString(16)}\r\n${part}\r\n`);
  return `${lines.join('\r\n')}\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}
