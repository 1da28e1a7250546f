import { createHash } from 'node:crypto';
import type { RawSocket } from './raw-socket.ts';
import type { ScriptedConnection } from './scripted-app.ts';
import { withTimeout } from './timeout.ts';

export type BodyFraming = 'length' | 'chunked';
export const BODY_FRAMINGS: readonly BodyFraming[] = ['length', 'chunked'];

/** The app's side of a download: head and body, as fast as they are taken. Ends quietly when the other side leaves. */
export async function sendDownload(
  connection: ScriptedConnection,
  framing: BodyFraming,
  total: number,
  pieces: Iterable<Buffer>,
  onSent: (bytes: number) => void = () => {},
): Promise<void> {
  const field = framing === 'length' ? `Content-Length: ${total}` : 'Transfer-Encoding: chunked';
  connection.send(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`);
  try {
    for (const piece of pieces) {
      if (framing === 'chunked') connection.send(`${piece.length.toString(16)}\r\n`);
      await connection.sendAndFlush(piece);
      if (framing === 'chunked') connection.send('\r\n');
      onSent(piece.length);
    }
    if (framing === 'chunked') connection.send('0\r\n\r\n');
  } catch {
    // The client left, as some cases want it.
  }
}

/** The client's side, after the head: the body is counted and hashed as it comes, and not kept. */
export class Download {
  /** Bytes of the body that came. */
  received = 0;
  readonly #hash = createHash('sha256');
  readonly #whole: Promise<void>;
  readonly #total: number;

  constructor(client: RawSocket, framing: BodyFraming, total: number) {
    const dechunk = framing === 'chunked' ? createDechunker() : (bytes: Buffer) => [bytes];
    this.#total = total;
    this.#whole = new Promise<void>((resolve, reject) => {
      client.drainTo((bytes) => {
        for (const data of dechunk(bytes)) {
          this.#hash.update(data);
          this.received += data.length;
        }
        if (this.received === total) resolve();
      });
      void client.closed.then((ending) => reject(new Error(`${ending} after ${this.received} of ${total} bytes`)));
    });
    this.#whole.catch(() => {});
  }

  /** SHA-256 of the body once all of it came; rejects when the connection ends before. */
  async digest(ms: number): Promise<string> {
    await withTimeout(this.#whole, () => `the body; ${this.received} of ${this.#total} bytes came`, ms);
    return this.#hash.digest('hex');
  }
}

/** Takes the chunk lines out of what comes, wherever it is split. */
function createDechunker(): (bytes: Buffer) => Buffer[] {
  let left = 0;
  let line = '';
  return (bytes) => {
    const data: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      if (left > 0) {
        const end = Math.min(bytes.length, at + left);
        data.push(bytes.subarray(at, end));
        left -= end - at;
        at = end;
        continue;
      }
      line += String.fromCharCode(bytes[at]!);
      at += 1;
      if (!line.endsWith('\r\n')) continue;
      // The line end behind a chunk's data comes as a line without a size.
      if (line !== '\r\n') left = Number.parseInt(line, 16);
      line = '';
    }
    return data;
  };
}
