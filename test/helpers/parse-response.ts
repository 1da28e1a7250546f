import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResponseHead } from '../../src/upstream/response-head.ts';
import { type ResponseLimits, ResponseParser, type ResponseSink } from '../../src/upstream/response-parser.ts';

/** What came out of one response, in a form that two ways of reading it can be compared in. */
export interface ParsedResponse {
  readonly status: number;
  readonly statusLine: string;
  readonly fields: string;
  readonly isAscii: boolean;
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly isEventStream: boolean;
  readonly hasStrictTransportSecurity: boolean;
  readonly keepAliveTimeout: number;
  /** Body bytes as latin-1 text. */
  readonly body: string;
  /** Whether the connection may be used again, as the parser sees it. */
  readonly keepAlive: boolean;
  /** Whether the response was complete only by the end of the connection. */
  readonly isEndedByClose: boolean;
  /** How many of the bytes belonged to the response (and the interim ones before it). */
  readonly consumed: number;
}

export interface ParseOptions {
  readonly isHeadRequest?: boolean;
  readonly limits?: ResponseLimits;
  /** Positions at which the bytes are cut into reads. Without them there is one read. */
  readonly cuts?: readonly number[];
}

/** A refused response (`refused` says why), one that ended too early (`cut` says where), or a whole one. */
export type ParseOutcome = { readonly refused: string } | { readonly cut: string } | ParsedResponse;

const READ_BUFFER = Buffer.alloc(2 * 1024 * 1024);
/** What would end a head, a chunk or a trailer if it were read. */
const OLDER_BYTES = Buffer.from('\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');

/** Feeds the bytes in as many reads as `cuts` asks for, then ends the connection if the response is not complete. */
export function parseResponse(bytes: string | Buffer, options: ParseOptions = {}): ParseOutcome {
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  const { isHeadRequest = false, limits, cuts = [] } = options;
  const parser = new ResponseParser(limits);
  const sink = new RecordingSink();
  parser.expect(isHeadRequest, sink);
  let position = 0;
  for (const cut of [...cuts, data.length]) {
    // As on a connection: each read comes in memory that is used again for the next, and holds older bytes behind it.
    const length = cut - position;
    data.copy(READ_BUFFER, 0, position, cut);
    OLDER_BYTES.copy(READ_BUFFER, length);
    const result = parser.execute(READ_BUFFER, length);
    sink.onReadEnd();
    READ_BUFFER.fill(0, 0, length);
    if (typeof result === 'string') return { refused: result };
    if (parser.isIdle) return sink.response(parser, position + result, false);
    position = cut;
  }
  const missing = parser.finish();
  sink.onReadEnd();
  return missing === undefined ? sink.response(parser, data.length, true) : { cut: missing };
}

/** A chunked response with these bytes behind its head. */
export function chunkedResponse(body: string, lines = ''): string {
  return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${lines}\r\n${body}`;
}

/** Every cut into two reads, and the cut into single bytes. */
export function allCuts(length: number): number[][] {
  const single = Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
  return [...single.map((cut) => [cut]), single];
}

/** A test that the response is accepted with these values, in whatever reads it comes. */
export function accepts(
  name: string,
  bytes: string,
  expected: Partial<ParsedResponse>,
  options: ParseOptions = {},
): void {
  test(name, () => {
    const whole = parseResponse(bytes, options);
    assert.ok('status' in whole, `not accepted: ${JSON.stringify(whole)}`);
    for (const [key, value] of Object.entries(expected))
      assert.deepEqual(whole[key as keyof ParsedResponse], value, key);
    for (const cuts of allCuts(bytes.length)) {
      assert.deepEqual(parseResponse(bytes, { ...options, cuts }), whole, `cut at ${cuts}`);
    }
  });
}

/** A test that the response is refused for this reason when it comes whole, and for whatever reason when it comes in pieces. */
export function refuses(name: string, bytes: string, reason: RegExp, options: ParseOptions = {}): void {
  test(name, () => {
    const whole = parseResponse(bytes, options);
    assert.ok('refused' in whole, `not refused: ${JSON.stringify(whole)}`);
    assert.match(whole.refused, reason);
    for (const cuts of allCuts(bytes.length)) {
      assert.ok('refused' in parseResponse(bytes, { ...options, cuts }), `not refused when cut at ${cuts}`);
    }
  });
}

/** A test that the response ends too early, `where` the end of the connection comes. */
export function cuts(name: string, bytes: string, where: RegExp, options: ParseOptions = {}): void {
  test(name, () => {
    const whole = parseResponse(bytes, options);
    assert.ok('cut' in whole, `not cut: ${JSON.stringify(whole)}`);
    assert.match(whole.cut, where);
    for (const positions of allCuts(bytes.length)) {
      assert.deepEqual(parseResponse(bytes, { ...options, cuts: positions }), whole, `cut at ${positions}`);
    }
  });
}

class RecordingSink implements ResponseSink {
  readonly #body: Buffer[] = [];
  readonly #views: Buffer[] = [];
  #head: ResponseHead | undefined;
  #ends = 0;

  onHead(head: ResponseHead): void {
    if (this.#head !== undefined) throw new Error('a second head');
    if (this.#ends > 0) throw new Error('a head behind the end');
    this.#head = Object.assign(Object.create(Object.getPrototypeOf(head)), head) as ResponseHead;
  }

  onBody(chunk: Buffer): void {
    if (this.#head === undefined || this.#ends > 0) throw new Error('a body outside of the response');
    if (chunk.length === 0) throw new Error('an empty chunk');
    this.#views.push(chunk);
  }

  onReadEnd(): void {
    for (const view of this.#views.splice(0)) this.#body.push(Buffer.from(view));
  }

  onEnd(): void {
    if (this.#head === undefined) throw new Error('an end without a head');
    this.#ends += 1;
  }

  response(parser: ResponseParser, consumed: number, isEndedByClose: boolean): ParsedResponse {
    if (this.#ends !== 1) throw new Error(`the end was told ${this.#ends} times`);
    const { status, statusLine, fields, isAscii, contentLength, isChunked, isEventStream } = this.#head!;
    const { hasStrictTransportSecurity, keepAliveTimeout } = this.#head!;
    const body = Buffer.concat(this.#body).toString('latin1');
    return {
      ...{ status, statusLine, fields, isAscii, contentLength, isChunked, isEventStream },
      ...{ hasStrictTransportSecurity, keepAliveTimeout },
      ...{ body, keepAlive: parser.keepAlive, isEndedByClose, consumed },
    };
  }
}
