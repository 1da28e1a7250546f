/**
 * Whether a variable is what Kubernetes injects into every container of a namespace for a Service called `uwsrp` or
 * `uwsrp-something` (Docker's links have the same form): not meant for us, and no mistake of the user's. The value
 * counts because `UWSRP_APP_PORT` is a setting with a number and such a link with a `tcp://` URL.
 */
export function isServiceLink(name: string, value: string): boolean {
  if (!name.startsWith('UWSRP_')) return false;
  if (/_SERVICE_HOST$|_SERVICE_PORT(?:_[A-Z0-9_]+)?$/.test(name)) return true;
  if (/_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value);
}
