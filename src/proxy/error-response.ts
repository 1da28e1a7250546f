import { ERRORS, type ErrorCode } from '../lib/errors.ts';
import { type ErrorPages, findPage } from './error-pages.ts';

/** An answer of ours, made once for all requests. */
export interface ErrorResponse {
  readonly status: number;
  readonly reason: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** Seconds for `Retry-After`; with 503 only. */
  readonly retryAfter: string | undefined;
}

/** A queue empties, and a new instance comes up, within seconds. */
const RETRY_AFTER_SECONDS = '5';

/**
 * Gives the answer for an error of the table: the user's page, where there is one, else a small HTML page, or
 * `{"error":{"code","message","status"}}` for a client whose `Accept` prefers JSON. That holds what the table lets a
 * client read, in ASCII, and nothing else; a code without a status is a fault of ours, 500.
 */
export function createErrorResponse(pages: ErrorPages): (code: ErrorCode, accept: string | undefined) => ErrorResponse {
  const html = responses('text/html; charset=utf-8', htmlPage, (status) => findPage(pages, status, 'html'));
  const json = responses('application/json', jsonBody, (status) => findPage(pages, status, 'json'));
  return (code, accept) => (accept !== undefined && prefersJson(accept) ? json : html)[code];
}

/**
 * Whether `Accept` (RFC 9110 section 12.5.1) names a JSON type and gives it more weight than HTML. Wildcards name
 * neither: HTML is the default, while a JSON type followed by a wildcard is how programs ask.
 */
function prefersJson(accept: string): boolean {
  let json = 0;
  let html = 0;
  for (const element of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = element.split(';');
    const type = range.trim();
    if (type === 'application/json' || type.endsWith('+json')) json = Math.max(json, weightOf(parameters));
    else if (type === 'text/html' || type === 'application/xhtml+xml') html = Math.max(html, weightOf(parameters));
  }
  return json > html;
}

/** The `q` of a media range, 1 when absent; one that is no weight counts as 0, so that it decides nothing. */
function weightOf(parameters: readonly string[]): number {
  const q = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('q='));
  if (q === undefined) return 1;
  return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q.slice(2)) : 0;
}

/** Reason phrases (RFC 9110 section 15, RFC 6585; 499 is nginx's). Node has them in node:http, which is slow to load. */
const REASONS = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  417: 'Expectation Failed',
  426: 'Upgrade Required',
  431: 'Request Header Fields Too Large',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;

function responses(
  contentType: string,
  render: (status: number, reason: string, text: string, code: string) => string,
  pageOf: (status: number) => Buffer | undefined,
): Record<ErrorCode, ErrorResponse> {
  const entries = Object.entries(ERRORS).map(([code, row]) => {
    const { status, clientText } = 'status' in row ? row : ERRORS.INTERNAL;
    const shownCode = 'status' in row ? code : 'INTERNAL';
    const reason = REASONS[status];
    const body = pageOf(status) ?? Buffer.from(render(status, reason, clientText, shownCode));
    return [code, { status, reason, contentType, body, retryAfter: status === 503 ? RETRY_AFTER_SECONDS : undefined }];
  });
  return Object.fromEntries(entries) as Record<ErrorCode, ErrorResponse>;
}

function jsonBody(status: number, _reason: string, message: string, code: string): string {
  return `${JSON.stringify({ error: { code, message, status } })}\n`;
}

function htmlPage(status: number, reason: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${status} ${reason}</title>
<style>
:root { color-scheme: light dark }
body { display: grid; place-content: center; min-height: 100vh; margin: 0; padding: 0 1rem; box-sizing: border-box;
  font: 1.1rem/1.5 system-ui, sans-serif; text-align: center }
h1 { margin: 0; font-size: 3.5rem; font-weight: 600; line-height: 1.1 }
p { margin: .3rem 0; opacity: .75 }
</style>
</head>
<body>
<main>
<h1>${status}</h1>
<p>${reason}</p>
<p>${text}</p>
</main>
</body>
</html>
`;
}
