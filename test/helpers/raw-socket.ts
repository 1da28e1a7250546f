import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type Address, connectOptions } from './address.ts';
import { ByteReader } from './byte-reader.ts';
import { type Body, type Fields, type Framing, framingOf, readBody, readHead } from './http-message.ts';
import { withTimeout } from './timeout.ts';

/** How the other side ended its half: by FIN, by RST, by another error (its code), or not at all: we destroyed it. */
export type Ending = 'fin' | 'reset' | 'destroyed' | (string & {});

export interface RawResponse extends Body {
  readonly statusLine: string;
  readonly status: number;
  readonly reason: string;
  readonly headers: Fields;
  readonly framing: Framing;
  /** The whole head as it came. */
  readonly rawHead: Buffer;
}

/**
 * A TCP (or unix socket) connection that writes and reads bytes exactly. It is half-open by choice: a FIN of the other
 * side ends `closed`, and ours is sent by `end()` only. It never keeps the test process alive by itself.
 */
export class RawSocket {
  readonly socket: Socket;
  readonly closed: Promise<Ending>;
  readonly #reader = new ByteReader();
  #received: Buffer[] = [];
  #receivedLength = 0;
  #sink: ((chunk: Buffer) => void) | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.unref();
    socket.setNoDelay(true);
    let error: NodeJS.ErrnoException | undefined;
    socket.on('data', (chunk: Buffer) => {
      this.#receivedLength += chunk.length;
      if (this.#sink) return this.#sink(chunk);
      this.#received.push(chunk);
      this.#reader.push(chunk);
    });
    this.closed = new Promise((resolve) => {
      socket.on('end', () => resolve('fin'));
      socket.on('error', (cause: NodeJS.ErrnoException) => {
        error = cause;
      });
      socket.on('close', () => resolve(error === undefined ? 'destroyed' : endingOf(error)));
    });
    void this.closed.then(() => this.#reader.finish());
  }

  /** Text is written as latin-1: one char is one byte. */
  send(data: string | Buffer): void {
    this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
  }

  /** Like `send`, and waits until the kernel took the bytes: for uploads that the other side may hold up. */
  sendAndFlush(data: string | Buffer): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    return new Promise((resolve, reject) => {
      this.socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends our half (FIN) and goes on reading. */
  end(): void {
    this.socket.end();
  }

  /** Closes both halves; with unread bytes this resets. */
  destroy(): void {
    this.socket.destroy();
  }

  /** Sends RST. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Stops reading: the kernel's buffers fill, and then the other side is held up. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Hands every further byte to `sink` and stores none: for bodies too large to keep. */
  drainTo(sink: (chunk: Buffer) => void): void {
    const pending = this.#reader.pending;
    this.#sink = sink;
    if (pending.length > 0) sink(pending);
  }

  /** All bytes that came since the connection opened (up to `drainTo`), read or not. */
  get received(): Buffer {
    if (this.#received.length !== 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0]!;
  }

  /** How many bytes came, kept or drained. */
  get receivedLength(): number {
    return this.#receivedLength;
  }

  /** What came and was not read yet. */
  get unread(): Buffer {
    return this.#reader.pending;
  }

  /** Reads up to and with the text, or to where the function says (-1: not yet). */
  async readUntil(mark: string | ((bytes: Buffer) => number), ms?: number): Promise<string> {
    return (await this.#reader.readUntil(mark, undefined, ms)).toString('latin1');
  }

  async readExactly(count: number, ms?: number): Promise<Buffer> {
    return this.#reader.readExactly(count, undefined, ms);
  }

  /** Everything that is still to come until the other side ends, by whatever means: look at `closed` for that. */
  async readToEnd(ms?: number): Promise<Buffer> {
    return this.#reader.readToEnd(undefined, ms);
  }

  /**
   * Reads exactly one response and refuses a malformed one. `method` is the method of the request: HEAD has no body.
   * An interim response (1xx) is a response of its own; read again for the final one.
   */
  async readResponse(options: { method?: string; timeoutMs?: number } = {}): Promise<RawResponse> {
    const { method = 'GET', timeoutMs } = options;
    const head = await readHead(this.#reader, 'the head of a response', timeoutMs);
    const match = /^HTTP\/1\.1 ([1-9]\d\d) (.*)$/.exec(head.startLine);
    assert.ok(match, `not a status line: ${JSON.stringify(head.startLine)}`);
    const status = Number(match[1]);
    const hasNoBody = method === 'HEAD' || status < 200 || status === 204 || status === 304;
    const framing = hasNoBody ? 'none' : framingOf(head.headers, 'close');
    const { headers, raw: rawHead, startLine: statusLine } = head;
    const body = await readBody(this.#reader, headers, framing, timeoutMs);
    return { statusLine, status, reason: match[2]!, headers, framing, rawHead, ...body };
  }

  /** Only the head of a response, for bodies that are drained or cut. */
  async readResponseHead(timeoutMs?: number): Promise<{ status: number; headers: Fields; rawHead: Buffer }> {
    const { startLine, headers, raw } = await readHead(this.#reader, 'the head of a response', timeoutMs);
    return { status: Number(/^HTTP\/1\.1 ([1-9]\d\d) /.exec(startLine)?.[1]), headers, rawHead: raw };
  }
}

/** Connects, or fails with the system's error (`ECONNREFUSED`). With `t` the socket is closed after the test. */
export async function connectRaw(address: Address, t?: TestContext): Promise<RawSocket> {
  const socket = connect({ ...connectOptions(address), allowHalfOpen: true });
  t?.after(() => {
    socket.destroy();
  });
  await withTimeout(
    new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    }),
    `a connection to ${JSON.stringify(address)}`,
  );
  socket.removeAllListeners('error');
  return new RawSocket(socket);
}

function endingOf(error: NodeJS.ErrnoException): Ending {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE' ? 'reset' : (error.code ?? error.message);
}
