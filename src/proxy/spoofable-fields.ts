/**
 * Request fields beside `X-Forwarded-*` by which routers and CDNs tell an app who the client is, and which URL and
 * scheme it used. Frameworks believe them, so a client that reaches us directly must not be able to set them. From a
 * trusted peer they pass as they are. Names that say who is logged in (`Remote-User`) are the app's own affair.
 */
const SPOOFABLE_FIELDS = new Set([
  // who the client is
  'forwarded',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'client-ip',
  'cloudfront-viewer-address',
  'do-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'true-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-originating-ip',
  'x-real-ip',
  'x-remote-addr',
  'x-remote-ip',
  // which scheme it used
  'cf-visitor',
  'cloudfront-forwarded-proto',
  'fly-forwarded-port',
  'fly-forwarded-proto',
  'fly-forwarded-ssl',
  'front-end-https',
  'x-arr-ssl',
  'x-scheme',
  'x-url-scheme',
  // which URL it asked for
  'x-original-host',
  'x-original-proto',
  'x-original-uri',
  'x-original-url',
  'x-real-port',
  'x-rewrite-url',
  // when it came
  'x-queue-start',
]);

/**
 * Whether a request field (its name in lower case) is to be dropped unless the peer is trusted: the list above, and
 * all that begins with `x-forwarded` (`-Server`, `-Ssl`, `-Scheme`, `-Prefix`, `-By`, `-User`, …).
 */
export function isSpoofableField(name: string): boolean {
  switch (name.charCodeAt(0)) {
    case 120: // x
      return name.startsWith('x-forwarded') || SPOOFABLE_FIELDS.has(name);
    case 99: // c
    case 100: // d
    case 102: // f
    case 116: // t
      return SPOOFABLE_FIELDS.has(name);
    default:
      return false;
  }
}
