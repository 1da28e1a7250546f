import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';

/** One request and how it ended. Times are milliseconds. */
export interface AccessEntry {
  readonly method: string;
  /** Without the query, which may hold secrets. Latin-1: one char is one byte. */
  readonly path: string;
  /** What the client got; 499 when it went away first. */
  readonly status: number;
  /** Of the response's body, handed on to the client's connection. */
  readonly bodyBytes: number;
  /** From the request's head to the app's; undefined when there was none. */
  readonly firstByteMs: number | undefined;
  /** From the request's head to the last byte of the answer. */
  readonly totalMs: number;
  readonly requestId: string | undefined;
  readonly clientAddress: string;
  /** Why it failed, if it did: a code of the error table, and a sentence. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** What a line shows of a path; the limit of a request head is far more than a line of a log should have. */
const MAX_PATH_CHARS = 1024;
const MAX_METHOD_CHARS = 32;

/** `UWSRP_ACCESS_LOG`: one line for each request, or for those that failed. Holds no header but the request's id. */
export class AccessLog {
  readonly #isAll: boolean;
  readonly #log: Logger;

  private constructor(isAll: boolean, log: Logger) {
    this.#isAll = isAll;
    this.#log = log;
  }

  /** Undefined when nothing would ever be written, so that nothing need be measured. */
  static create(mode: Config['accessLog'], log: Logger): AccessLog | undefined {
    if (mode === 'off' || !log.isLevelEnabled('warn')) return undefined;
    return new AccessLog(mode === 'all' && log.isLevelEnabled('info'), log);
  }

  /** Whether an answer with this status is written. `isCut`: its status was out, and then its body was cut. */
  wants(status: number, isCut: boolean): boolean {
    return this.#isAll || status >= 499 || isCut;
  }

  write(entry: AccessEntry): void {
    const { status, failure, firstByteMs } = entry;
    const isFault = failure !== undefined && status !== 499;
    this.#log[status >= 500 || (isFault && status < 400) ? 'warn' : 'info'](
      {
        method: entry.method.slice(0, MAX_METHOD_CHARS),
        path: printablePath(entry.path),
        status,
        bytes: entry.bodyBytes,
        ...(firstByteMs === undefined ? {} : { firstByteMs: round(firstByteMs) }),
        durationMs: round(entry.totalMs),
        client: entry.clientAddress,
        ...(entry.requestId === undefined ? {} : { requestId: entry.requestId }),
        ...(failure === undefined ? {} : { code: failure.code, reason: failure.message }),
      },
      failure === undefined ? 'request' : 'request failed',
    );
  }
}

/** Bytes that are not printable ASCII as `%XX`: a terminal takes some of them for commands, even inside JSON. */
function printablePath(path: string): string {
  const shown = path.length > MAX_PATH_CHARS ? `${path.slice(0, MAX_PATH_CHARS)}…` : path;
  return shown.replace(
    /[^\x21-\x7e…]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Tenths of a millisecond tell what there is to tell. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
