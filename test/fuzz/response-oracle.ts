import { HTTPParser } from 'http-parser-js';

/** What the independent parser understood, before anything is left out of the head. */
export interface OracleResponse {
  readonly isHttp10: boolean;
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** How many of the bytes belonged to the response, the interim ones before it included. */
  readonly consumed: number;
  readonly isEndedByClose: boolean;
}

interface OracleEvents {
  [key: number]: (...parts: never[]) => unknown;
  readonly offset: number;
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
}

// Bytes above 0x7F must be comparable, and no limit of its own may refuse what ours accepts.
HTTPParser.encoding = 'latin1';
HTTPParser.maxHeaderSize = 1 << 30;
// Reading this switches the parser to callbacks with separate arguments.
void HTTPParser.kOnExecute;

/**
 * Reads the first final response in `bytes` with http-parser-js, then ends the connection. Returns undefined when it
 * sees an error in it, or no end of it. Which responses have no body is told to it: it asks its user for that.
 */
export function readWithOracle(bytes: Buffer, isHeadRequest: boolean): OracleResponse | undefined {
  const parser = new HTTPParser(HTTPParser.RESPONSE) as unknown as OracleEvents;
  let head: Pick<OracleResponse, 'isHttp10' | 'status' | 'reason' | 'headers'> | undefined;
  let body = '';
  let response: OracleResponse | undefined;
  let isEndedByClose = false;

  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    minor: number,
    headers: string[],
    _method: number,
    _url: string,
    status: number,
    reason: string,
  ) => {
    const pairs = Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i]!, headers[2 * i + 1]!] as const);
    head = { isHttp10: minor === 0, status, reason, headers: pairs };
    body = '';
    return isHeadRequest || status === 204 || status === 304;
  };
  parser[HTTPParser.kOnBody] = (chunk: Buffer, offset: number, length: number) => {
    // It takes negative lengths, and then reads the same bytes for ever.
    if (length < 0) throw new NegativeLength();
    body += chunk.toString('latin1', offset, offset + length);
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    if (response === undefined && head !== undefined && head.status >= 200) {
      response = { ...head, body, consumed: isEndedByClose ? bytes.length : parser.offset, isEndedByClose };
    }
  };

  const hasError = failsToExecute(parser, bytes);
  if (response !== undefined || hasError) return response;
  isEndedByClose = true;
  parser.finish();
  return response;
}

class NegativeLength extends Error {}

function failsToExecute(parser: OracleEvents, bytes: Buffer): boolean {
  try {
    return parser.execute(bytes) instanceof Error;
  } catch (error) {
    if (error instanceof NegativeLength) return true;
    throw error;
  }
}
