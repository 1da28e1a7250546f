/** What the grammar says of a text: a whole response, the beginning of one, or (a sentence) the rule that it breaks. */
export type StrictReading = 'whole' | 'incomplete' | { readonly broken: string };

const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9]{2}( [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
const CHUNK_LINE = /^([0-9a-fA-F]{1,16})[\t ]*(;[\t\x20-\x7e\x80-\xff]*)?$/;

/**
 * The rules of RFC 9112 written down a second time, as slowly and plainly as they are there, with every choice that a
 * recipient has made the strict way. The text is latin-1 and ends where the connection does.
 */
export function readStrictly(text: string, isHeadRequest: boolean): StrictReading {
  let rest = text;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return 'incomplete';
    const [statusLine, ...lines] = rest.slice(0, headEnd).split('\r\n');
    rest = rest.slice(headEnd + 4);
    if (!STATUS_LINE.test(statusLine!)) return { broken: 'section 4: status line' };
    if (!lines.every((line) => FIELD_LINE.test(line))) return { broken: 'section 5: field line' };

    const status = Number(statusLine!.slice(9, 12));
    const lengths = valuesOf(lines, 'content-length');
    const codings = valuesOf(lines, 'transfer-encoding');
    if (lengths.length > 1) return { broken: 'section 6.3: repeated Content-Length' };
    if (lengths.some((value) => !isLength(value))) return { broken: 'section 6.2: Content-Length' };
    if (codings.length > 1) return { broken: 'section 6.1: repeated Transfer-Encoding' };
    if (codings.some((value) => value.toLowerCase() !== 'chunked')) return { broken: 'section 6.1: unknown coding' };
    if (codings.length + lengths.length > 1) return { broken: 'section 6.3: both framings' };
    if (codings.length > 0 && statusLine!.startsWith('HTTP/1.0')) return { broken: 'section 6.1: coding in HTTP/1.0' };

    if (status === 101) return { broken: 'RFC 9110 section 7.8: unasked upgrade' };
    if (status < 200) {
      if (codings.length > 0 || Number(lengths[0] ?? 0) > 0) return { broken: 'RFC 9110 section 15.2: interim body' };
      continue;
    }
    if (isHeadRequest || status === 204 || status === 304 || Number(lengths[0] ?? 1) === 0) return 'whole';
    if (codings.length > 0) return readChunks(rest);
    if (lengths.length > 0) return rest.length >= Number(lengths[0]) ? 'whole' : 'incomplete';
    return 'whole';
  }
}

function readChunks(text: string): StrictReading {
  let rest = text;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    if (lineEnd === -1) return 'incomplete';
    const match = CHUNK_LINE.exec(rest.slice(0, lineEnd));
    if (!match) return { broken: 'section 7.1: chunk line' };
    const size = Number(`0x${match[1]}`);
    if (!Number.isSafeInteger(size)) return { broken: 'section 7.1: chunk size' };
    rest = rest.slice(lineEnd + 2);
    if (size === 0) return readTrailers(rest);
    if (rest.length < size + 2) {
      const isLineEnd = '\r\n'.startsWith(rest.slice(size));
      return isLineEnd ? 'incomplete' : { broken: 'section 7.1: chunk data' };
    }
    if (rest.slice(size, size + 2) !== '\r\n') return { broken: 'section 7.1: chunk data' };
    rest = rest.slice(size + 2);
  }
}

function readTrailers(text: string): StrictReading {
  let rest = text;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    if (lineEnd === -1) return 'incomplete';
    const line = rest.slice(0, lineEnd);
    if (line === '') return 'whole';
    if (!FIELD_LINE.test(line)) return { broken: 'section 7.1.2: trailer line' };
    rest = rest.slice(lineEnd + 2);
  }
}

function valuesOf(lines: readonly string[], name: string): string[] {
  return lines
    .filter((line) => line.slice(0, line.indexOf(':')).toLowerCase() === name)
    .map((line) => line.slice(line.indexOf(':') + 1).replace(/^[\t ]+|[\t ]+$/g, ''));
}

function isLength(value: string): boolean {
  return /^[0-9]{1,16}$/.test(value) && Number.isSafeInteger(Number(value));
}
