/** A request target that is no plain path. Chars are bytes. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string | undefined;
  /** The authority of an absolute-form target, which takes the place of `Host` (RFC 9112 section 3.2.2). */
  readonly host: string | undefined;
}

/**
 * Reads a target in absolute form, or one with bytes above 0x7F, which arrive decoded as UTF-8 and are turned back
 * into bytes. Undefined when they cannot be: then nothing may be handed on. The asterisk form is left as it is.
 */
export function parseRequestTarget(path: string, query: string | undefined): RequestTarget | undefined {
  if (path.includes('\ufffd') || query?.includes('\ufffd')) return undefined;
  const bytes = { path: toBytes(path), query: query === undefined ? undefined : toBytes(query), host: undefined };
  const absolute = /^https?:\/\/([^/?#]*)(\/.*)?$/is.exec(bytes.path);
  return absolute ? { ...bytes, host: absolute[1]!, path: absolute[2] ?? '/' } : bytes;
}

function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
