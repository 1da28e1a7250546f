// Requests over bare sockets, for what wrk cannot do: large bodies counted to the last byte, slow readers, many idle ones.
import { connect } from 'node:net';

const AT_A_TIME = 100;
const READ_BUFFER_BYTES = 256 * 1024;

/**
 * Opens a connection whose bytes go to `onBytes(bytes)` from one buffer that is used again; `false` from it stops the
 * reading until `resume()`. An end that was not asked for by `destroy()` goes to `onEnd(error)`.
 */
export function openSocket(port, { onBytes, onEnd, bufferBytes = READ_BUFFER_BYTES }) {
  const buffer = Buffer.allocUnsafeSlow(bufferBytes);
  const onread = { buffer, callback: (length) => onBytes(buffer.subarray(0, length)) };
  const socket = connect({ port, host: '127.0.0.1', onread, noDelay: true });
  let failure = new Error('the connection was closed by the other side');
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', () => onEnd?.(failure));
  return {
    write: (data) => socket.write(data),
    drained: () => new Promise((resolve) => socket.once('drain', resolve)),
    resume: () => socket.resume(),
    /** A reset: nothing of the connection stays behind in TIME_WAIT. */
    destroy() {
      onEnd = undefined;
      socket.resetAndDestroy();
    },
  };
}

/** Adds `count` connections to `sockets`, so many at a time that no listener's queue overflows. */
export async function openMany(count, sockets, open) {
  for (let left = count; left > 0; left -= AT_A_TIME) {
    const some = Array.from({ length: Math.min(AT_A_TIME, left) }, () => open().then((socket) => sockets.push(socket)));
    await Promise.all(some);
  }
}

/** Sends a request and reads the whole answer; resolves with the number of bytes of it. Any status but 200 throws. */
export function fetchWhole(port, { head, body }) {
  return new Promise((resolve, reject) => {
    const answer = new AnswerCounter();
    const socket = openSocket(port, {
      onBytes(bytes) {
        try {
          answer.add(bytes);
        } catch (error) {
          end(error);
          return;
        }
        if (answer.isComplete) end();
      },
      onEnd: (error) => end(error),
    });
    const end = (error) => {
      socket.destroy();
      if (error) reject(error);
      else resolve(answer.bodyBytes);
    };
    socket.write(head);
    body?.(socket).catch(end);
  });
}

/** Counts an answer's body as it comes, by Content-Length or by chunks. */
class AnswerCounter {
  bodyBytes = 0;
  isComplete = false;
  #head = '';
  #length; // undefined: the head is not complete; NaN: the body is chunked
  #leftOfChunk = 0;
  #line = '';
  #isLastChunk = false;

  add(bytes) {
    if (this.#length !== undefined) {
      this.#body(bytes);
      return;
    }
    this.#head += bytes.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return;
    if (!/^HTTP\/1\.1 200/.test(this.#head)) throw new Error(`not answered with 200: ${this.#head.slice(0, 200)}`);
    this.#length = Number(/^content-length: *(\d+)/im.exec(this.#head.slice(0, end))?.[1] ?? Number.NaN);
    this.#body(Buffer.from(this.#head.slice(end + 4), 'latin1'));
  }

  #body(bytes) {
    if (Number.isNaN(this.#length)) {
      this.#chunks(bytes);
      return;
    }
    this.bodyBytes += bytes.length;
    this.isComplete = this.bodyBytes >= this.#length;
  }

  #chunks(bytes) {
    for (let at = 0; at < bytes.length; ) {
      const inChunk = Math.min(this.#leftOfChunk, bytes.length - at);
      this.#leftOfChunk -= inChunk;
      this.bodyBytes += inChunk;
      at += inChunk;
      if (at === bytes.length) return;
      const end = bytes.indexOf('\n', at);
      this.#line += bytes.toString('latin1', at, end === -1 ? bytes.length : end);
      if (end === -1) return;
      at = end + 1;
      this.#endOfLine(this.#line.trim());
      this.#line = '';
    }
  }

  /** A chunk's size, the empty line behind a chunk, or the one behind the last. */
  #endOfLine(line) {
    if (line === '') {
      this.isComplete = this.#isLastChunk;
      return;
    }
    this.#leftOfChunk = Number.parseInt(line, 16);
    this.#isLastChunk = this.#leftOfChunk === 0;
  }
}

export const getHead = (path) => `GET ${path} HTTP/1.1\r\nHost: bench.example\r\n\r\n`;
