import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import { formatByteSize } from '../lib/byte-size.ts';
import { quoteValue } from '../lib/quote-value.ts';

export type PageKind = 'html' | 'json';

/** The user's own pages for errors that uwsrp makes, by file name: `502.html`, `5xx.json`. */
export type ErrorPages = ReadonlyMap<string, Buffer>;

export const NO_PAGES: ErrorPages = new Map();

const PAGE_NAME = /^[45](?:\d\d|xx)\.(?:html|json)$/;
const MAX_PAGE_BYTES = 256 * 1024;
const ALLOWED = `a folder of files named like 502.html, 5xx.html or 503.json, in UTF-8, of at most ${formatByteSize(MAX_PAGE_BYTES)} each`;

/** The page for a status: its own, else the one for all of its class, else undefined. */
export function findPage(pages: ErrorPages, status: number, kind: PageKind): Buffer | undefined {
  return pages.get(`${status}.${kind}`) ?? pages.get(`${Math.floor(status / 100)}xx.${kind}`);
}

/**
 * Reads the folder of `UWSRP_ERROR_PAGES`, once. Strict: what is not a page would never be served, so it is a mistake.
 * Files whose name begins with a dot do not count.
 *
 * @throws ConfigError with every problem.
 */
export function readErrorPages(folder: string | undefined): ErrorPages {
  if (folder === undefined) return NO_PAGES;
  const pages = new Map<string, Buffer>();
  const problems: string[] = [];
  const complain = (what: string, problem: string) =>
    problems.push(`UWSRP_ERROR_PAGES: ${quoteValue(what)} ${problem} (allowed: ${ALLOWED})`);

  for (const name of listFolder(folder, (reason) => complain(folder, `cannot be read: ${reason}`))) {
    if (!PAGE_NAME.test(name)) {
      complain(name, 'is no page');
      continue;
    }
    try {
      const bytes = readFileSync(join(folder, name));
      const problem = problemOf(name, bytes);
      if (problem === undefined) pages.set(name, bytes);
      else complain(name, problem);
    } catch (error) {
      complain(name, `cannot be read: ${codeOf(error)}`);
    }
  }
  if (problems.length === 0 && pages.size === 0) complain(folder, 'holds no page');
  if (problems.length > 0) throw new ConfigError(problems);
  return pages;
}

function listFolder(folder: string, onError: (reason: string) => void): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch (error) {
    onError(codeOf(error));
    return [];
  }
}

function problemOf(name: string, bytes: Buffer): string | undefined {
  if (bytes.length > MAX_PAGE_BYTES) return `has ${bytes.length} bytes`;
  if (!isUtf8(bytes)) return 'is not UTF-8';
  if (name.endsWith('.json') && !isJson(bytes.toString('utf8'))) return 'is not JSON';
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
