/**
 * What the rules of this folder read of one request. Values are latin-1 text: one char is one byte of the wire, so
 * nothing is lost or re-encoded. A repeated forwarding field is joined with `, ` in order (RFC 9110 section 5.3).
 */
export interface ProxyRequest {
  /** As sent, case kept. */
  readonly method: string;
  /** Path without the query, byte for byte. */
  readonly path: string;
  /** Query without the `?`; `''` for a lone `?`, undefined when there is none. */
  readonly query: string | undefined;
  /** The `Host` field as sent; '' when empty. */
  readonly host: string;
  /** Address of the peer, IPv4-mapped IPv6 written as IPv4. */
  readonly peer: string;
  /** Whether the peer's connection to us is TLS. */
  readonly isTls: boolean;

  readonly forwardedFor: string | undefined;
  readonly forwardedProto: string | undefined;
  readonly forwardedHost: string | undefined;
  readonly forwardedPort: string | undefined;
  readonly realIp: string | undefined;
  readonly requestStart: string | undefined;
  /** Value of the field that `UWSRP_CLIENT_IP_HEADER` names. */
  readonly clientIp: string | undefined;
}
