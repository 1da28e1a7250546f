import type { RequestFraming } from './framing.ts';
import { parseConnection } from './hop-by-hop.ts';
import type { IncomingRequest } from './incoming-request.ts';

/**
 * The head of the request to the app, latin-1, without the blank line: request line and Host as the client sent them,
 * its end-to-end fields in order less those that its `Connection` nominated, and then ours, so that none of ours can
 * be nominated away (RFC 9110 section 7.6.1).
 */
export function formatRequestHead(request: IncomingRequest, framing: RequestFraming, ourLines: string): string {
  const { method, path, query, host, connection } = request;
  const target = query === undefined ? path : `${path}?${query}`;
  const names = connection === undefined ? undefined : parseConnection(connection).names;
  const fields = names === undefined ? request.fields : withoutFields(request.fields, names);
  return `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}${ourLines}${framingLine(framing)}`;
}

/** The framing is ours alone: what the fence understood, written in one way. */
function framingLine(framing: RequestFraming): string {
  switch (framing.kind) {
    case 'length':
      return `Content-Length: ${framing.text}\r\n`;
    case 'chunked':
      return 'Transfer-Encoding: chunked\r\n';
    default:
      return '';
  }
}

function withoutFields(lines: string, names: readonly string[]): string {
  let kept = '';
  for (const line of lines.split('\r\n')) {
    if (line !== '' && !names.includes(line.slice(0, line.indexOf(':')))) kept += `${line}\r\n`;
  }
  return kept;
}
