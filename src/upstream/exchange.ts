import type { UwsrpError } from '../lib/errors.ts';
import type { ResponseSink } from './response-parser.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/**
 * One request on its way to the app and its response on the way back, as the upstream side sees it. The edge
 * implements it. The pool calls `onAssigned` once per try, and `onHeadSent` when a body may follow; then the response
 * comes by `onHead`, `onBody` and `onEnd`, or `onFailure` ends it. After `onEnd` only `onDrain` and `onFailure` may follow, and only while the request's body is
 * not complete: then the failure says that the app takes no more of it.
 */
export interface UpstreamExchange extends ResponseSink {
  /** Request line and fields with the blank line, latin-1. */
  readonly requestHead: string;
  readonly isHeadRequest: boolean;
  /** Idempotent and without a body: may be sent twice (RFC 9110 section 9.2.2). */
  readonly isReplayable: boolean;
  /**
   * Whether it may share a connection, one behind the other (`UWSRP_APP_PIPELINING`): safe (RFC 9110 section 9.2.1), without a
   * body, and of an answer that will not take for ever. Implies `isReplayable`.
   */
  readonly isShareable: boolean;
  /** Whether a body follows the head. While it is not all sent, the connection cannot be used again. */
  readonly hasRequestBody: boolean;
  /** Whether the client has sent all of the request, body included. */
  readonly isRequestComplete: boolean;

  /** The connection is this exchange's. Nothing is written yet: until the head is, it may be assigned to another one. */
  onAssigned(connection: UpstreamConnection): void;
  /** The head is written, of a request with a body: its bytes may follow through the connection. */
  onHeadSent(): void;
  /** One read of the app's bytes is over, and the response is not complete: its chunks' memory is used again. */
  onReadEnd(): void;
  /** What the app was too slow to take has been written; more may follow. */
  onDrain(): void;
  /** Nothing more will come. `error` says why, for the log. */
  onFailure(error: UwsrpError): void;
}
