interface ErrorRow {
  readonly exitCode?: number;
  readonly status?: number;
  readonly clientText?: string;
}

/**
 * Every way in which uwsrp can fail, in one table. `status` and `clientText` are what a client reads (nothing of the
 * inside is in it); `exitCode` is what the process ends with (design section 4, after sysexits.h).
 */
export const ERRORS = {
  CONFIG_INVALID: { exitCode: 78 },
  COMMAND_MISSING: { exitCode: 78 },
  COMMAND_NOT_EXECUTABLE: { exitCode: 126 },
  COMMAND_NOT_FOUND: { exitCode: 127 },
  /** Ended before it was ready; the error carries the command's own exit code. */
  COMMAND_ENDED: {},
  APP_NOT_READY: { exitCode: 69 },
  BIND_FAILED: { exitCode: 71 },
  INTERNAL: { exitCode: 70, status: 500, clientText: 'The server made an error.' },

  BAD_REQUEST: { status: 400, clientText: 'The request is malformed.' },
  UPLOAD_TIMEOUT: { status: 408, clientText: 'The request body did not arrive in time.' },
  BODY_TOO_LARGE: { status: 413, clientText: 'The request body is too large.' },
  EXPECTATION_FAILED: { status: 417, clientText: 'The expectation cannot be met.' },
  UPGRADE_REQUIRED: { status: 426, clientText: 'The request asks for an unknown version of the WebSocket protocol.' },
  HEADERS_TOO_LARGE: { status: 431, clientText: 'The request headers are too large.' },
  CLIENT_GONE: { status: 499, clientText: 'The client closed the connection.' },
  UPSTREAM_REFUSED: { status: 502, clientText: 'The application cannot be reached.' },
  UPSTREAM_CLOSED: { status: 502, clientText: 'The application closed the connection without an answer.' },
  UPSTREAM_INVALID: { status: 502, clientText: 'The application gave an invalid answer.' },
  QUEUE_TIMEOUT: { status: 503, clientText: 'The application is busy.' },
  DRAINING: { status: 503, clientText: 'The application is shutting down.' },
  UPSTREAM_TIMEOUT: { status: 504, clientText: 'The application did not answer in time.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** An error of the table above. `message` is for the operator (log, stderr), never for the client. */
export class UwsrpError extends Error {
  readonly code: ErrorCode;
  /** Goes before the exit code of the table. */
  readonly exitCode: number | undefined;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; exitCode?: number }) {
    super(message, options);
    this.name = 'UwsrpError';
    this.code = code;
    this.exitCode = options?.exitCode;
  }
}

/** The exit code for whatever ended the process: 70 (a fault of ours) for anything that is not in the table. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof UwsrpError)) return ERRORS.INTERNAL.exitCode;
  const row: ErrorRow = ERRORS[error.code];
  return error.exitCode ?? row.exitCode ?? ERRORS.INTERNAL.exitCode;
}
