import type { ProxyRequest } from './request.ts';

/** A request as the edge read it: what the rules look at, and what is needed to write it anew for the app. */
export interface IncomingRequest extends ProxyRequest {
  /** Whether the peer's forwarded headers are believed. */
  readonly isTrusted: boolean;
  /** How many `Host` fields the client sent. */
  readonly hostCount: number;
  /** Fields that go on to the app as they are, in order: lines ending in CRLF, names in lower case. */
  readonly fields: string;
  /** Size of the head, less what cannot be seen: blanks around values, and fields behind one with an empty name. */
  readonly headBytes: number;
  /** Repeated lines of these are joined with `, `. */
  readonly connection: string | undefined;
  readonly contentLength: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly expect: string | undefined;
  readonly accept: string | undefined;
  readonly requestId: string | undefined;
  /** A value could not be read as bytes, or holds a control byte: nothing of the request may reach the app. */
  readonly isUnreadable: boolean;
  readonly upgrade: string | undefined;
}
