import assert from 'node:assert/strict';
import type { ByteReader } from './byte-reader.ts';

/** How the end of a body was told: nothing to read, a Content-Length, chunks, or the end of the connection. */
export type Framing = 'none' | 'length' | 'chunked' | 'close';

/** The fields of a message in the order of the wire; values are latin-1 text, one char a byte. */
export class Fields {
  readonly list: readonly (readonly [name: string, value: string])[];

  constructor(list: readonly (readonly [name: string, value: string])[]) {
    this.list = list;
  }

  /** The value of a field that must not be there twice; undefined when it is absent. */
  get(name: string): string | undefined {
    const values = this.all(name);
    assert.ok(values.length <= 1, `${name} is there ${values.length} times: ${JSON.stringify(values)}`);
    return values[0];
  }

  all(name: string): string[] {
    return this.list.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  /** Names as they were sent, in order. */
  names(): string[] {
    return this.list.map(([name]) => name);
  }
}

export interface Head {
  /** The first line without its line end. */
  readonly startLine: string;
  readonly headers: Fields;
  /** The whole head with its closing blank line. */
  readonly raw: Buffer;
}

export interface Body {
  readonly body: Buffer;
  /** The bytes of the wire: with the chunk lines, where there were chunks. */
  readonly rawBody: Buffer;
  /** Size of each chunk, as framed by the sender. */
  readonly chunkSizes: readonly number[];
  readonly trailers: Fields;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Reads one head and refuses all that RFC 9112 does not allow: bare LF, folded lines, blanks before the colon. */
export async function readHead(reader: ByteReader, what: string, ms?: number): Promise<Head> {
  const raw = await reader.readUntil('\r\n\r\n', what, ms);
  const [startLine, ...lines] = raw.toString('latin1').slice(0, -4).split('\r\n');
  for (const line of [startLine!, ...lines]) {
    assert.ok(!/[\r\n\0]/.test(line), `control byte in the line ${JSON.stringify(line)}`);
  }
  return { startLine: startLine!, headers: parseFields(lines), raw };
}

/** The framing that the fields tell; `otherwise` is what applies when they tell none. */
export function framingOf(headers: Fields, otherwise: 'none' | 'close'): Framing {
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  assert.ok(coding === undefined || length === undefined, 'both Transfer-Encoding and Content-Length');
  if (coding !== undefined) {
    assert.equal(coding.toLowerCase(), 'chunked');
    return 'chunked';
  }
  if (length === undefined) return otherwise;
  assert.match(length, /^\d+$/, 'Content-Length');
  return 'length';
}

export async function readBody(reader: ByteReader, headers: Fields, framing: Framing, ms?: number): Promise<Body> {
  if (framing === 'chunked') return readChunks(reader, ms);
  let body = Buffer.alloc(0);
  if (framing === 'length') {
    const length = Number(headers.get('content-length'));
    body = Buffer.from(await reader.readExactly(length, `a body of ${length} bytes`, ms));
  }
  if (framing === 'close') body = Buffer.from(await reader.readToEnd('the end of the body', ms));
  return { body, rawBody: body, chunkSizes: [], trailers: new Fields([]) };
}

async function readChunks(reader: ByteReader, ms?: number): Promise<Body> {
  const raw: Buffer[] = [];
  const data: Buffer[] = [];
  const chunkSizes: number[] = [];
  for (;;) {
    const line = await reader.readUntil('\r\n', 'a chunk size', ms);
    const size = line.toString('latin1').slice(0, -2);
    assert.match(size, /^[0-9a-fA-F]{1,12}$/, 'chunk size');
    raw.push(line);
    const count = Number.parseInt(size, 16);
    if (count === 0) break;
    const chunk = await reader.readExactly(count + 2, `a chunk of ${count} bytes`, ms);
    assert.equal(chunk.toString('latin1', count), '\r\n', 'the line end after a chunk');
    raw.push(chunk);
    data.push(chunk.subarray(0, count));
    chunkSizes.push(count);
  }
  const trailers: string[] = [];
  for (;;) {
    const line = await reader.readUntil('\r\n', 'the end of the trailers', ms);
    raw.push(line);
    if (line.length === 2) break;
    trailers.push(line.toString('latin1').slice(0, -2));
  }
  return { body: Buffer.concat(data), rawBody: Buffer.concat(raw), chunkSizes, trailers: parseFields(trailers) };
}

function parseFields(lines: readonly string[]): Fields {
  return new Fields(
    lines.map((line) => {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon);
      assert.ok(colon > 0 && TOKEN.test(name), `not a header field: ${JSON.stringify(line)}`);
      return [name, line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')] as const;
    }),
  );
}
