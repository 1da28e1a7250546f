import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { UpstreamTarget } from '../lib/upstream-target.ts';

/** What node:net takes for every socket, though its types know it for `connect` and servers only. */
export interface UpstreamSocketOptions {
  readonly noDelay: boolean;
  readonly writableHighWaterMark: number;
  readonly onread: OnReadOpts;
}

type Done = (error?: Error | null) => void;

/**
 * A socket on which a failed write is not the end. An app that refuses an upload may answer and close at once: the
 * next write to it fails, and Node would destroy the socket with the answer unread in it (nodejs/node#54366). Here
 * what is still to be written is dropped, and the answer is read; the end of the connection, or its reset, comes to
 * the reader in any case.
 */
export class UpstreamSocket extends Socket {
  /** Set for requests with a body. Without one there is no answer to lose, and the error is told at once. */
  outlivesWriteErrors = false;
  readonly #isTcp: boolean;
  #isBroken = false;
  #done: Done = ignore;

  /** Connects at once. */
  constructor(target: UpstreamTarget, options: UpstreamSocketOptions) {
    super(options as SocketConstructorOpts);
    this.#isTcp = target.kind === 'tcp';
    this.connect(target.kind === 'tcp' ? { host: target.host, port: target.port } : { path: target.path });
  }

  /**
   * Whether what looks like an end was a reset. When the last bytes and the reset come together, libuv reads the bytes
   * and reports an end; but a TCP socket that was reset has no peer any more. Only right when nobody asked before.
   */
  get isReset(): boolean {
    return this.#isTcp && this.remoteAddress === undefined;
  }

  /** A write has failed, and was survived: nothing goes out any more. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Writes the head of a request without a body past the stream's buffer, which costs more than the write itself: there
   * is nothing behind it, and nothing before it, but for the end of a body which the app answered before it had read
   * all. A failure comes to the reader.
   */
  writeHead(head: string): void {
    if (this.writableLength > 0 || this.connecting) this.write(head, 'latin1');
    else super._write(head, 'latin1', ignore);
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    if (this.#isBroken) done();
    else super._write(chunk, encoding, this.outlivesWriteErrors ? this.#guard(done) : done);
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    if (this.#isBroken) done();
    else super._writev!(chunks, this.outlivesWriteErrors ? this.#guard(done) : done);
  }

  /** The stream has one write at a time on its way, so one guard serves them all. */
  #guard(done: Done): Done {
    this.#done = done;
    return this.#onWritten;
  }

  readonly #onWritten: Done = (error) => {
    if (error != null) this.#isBroken = true;
    this.#done();
  };
}

function ignore(): void {}
