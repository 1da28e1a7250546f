import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../../src/lib/errors.ts';
import { NO_PAGES } from '../../../src/proxy/error-pages.ts';
import { createErrorResponse } from '../../../src/proxy/error-response.ts';

const errorResponse = createErrorResponse(NO_PAGES);
const CODES = Object.keys(ERRORS) as ErrorCode[];
const JSON_ACCEPT = 'application/json';

const ACCEPTS: [accept: string | undefined, kind: 'html' | 'json'][] = [
  [undefined, 'html'],
  ['', 'html'],
  ['*/*', 'html'],
  ['text/html', 'html'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
  ['text/html, application/json', 'html'],
  ['application/json, text/html', 'html'],
  ['application/json;q=0.5, text/html', 'html'],
  ['application/json;q=0.5, application/xhtml+xml;q=0.6', 'html'],
  ['application/json;q=0', 'html'],
  ['application/json; q=0.000', 'html'],
  ['application/json;q=2', 'html'],
  ['application/json;q=', 'html'],
  ['application/jsonp', 'html'],
  ['text/plain', 'html'],
  ['image/svg+xml', 'html'],
  ['application/*', 'html'],
  [',;,=', 'html'],
  ['application/json', 'json'],
  ['Application/JSON', 'json'],
  ['application/json; charset=utf-8', 'json'],
  ['application/json, text/plain, */*', 'json'],
  ['application/problem+json', 'json'],
  ['application/vnd.api+json', 'json'],
  ['text/html;q=0.5, application/json', 'json'],
  ['text/html ; q=0.5 , application/json ; q=0.6', 'json'],
  ['text/html;q=0, application/json;q=0.001', 'json'],
  ['application/json;q=1.000', 'json'],
  ['application/json;Q=0.9', 'json'],
  ['application/json;q=0.1, application/problem+json', 'json'],
];
for (const [accept, kind] of ACCEPTS) {
  test(`answers in ${kind} to Accept ${JSON.stringify(accept) ?? 'that is absent'}`, () => {
    const { contentType } = errorResponse('UPSTREAM_REFUSED', accept);
    assert.equal(contentType, kind === 'html' ? 'text/html; charset=utf-8' : 'application/json');
  });
}

for (const code of CODES) {
  const own: { exitCode?: number; status?: number; clientText?: string } = ERRORS[code];
  const shownCode = own.status === undefined ? 'INTERNAL' : code;
  const row = own.status === undefined ? ERRORS.INTERNAL : own;

  test(`${code} reads as ${row.status} ${shownCode} in both forms`, () => {
    const html = errorResponse(code, undefined);
    const json = errorResponse(code, JSON_ACCEPT);
    assert.equal(html.status, row.status);
    assert.equal(json.status, row.status);
    assert.equal(json.reason, html.reason);
    assert.match(html.reason, /^[A-Z][A-Za-z '-]+$/);
    assert.deepEqual(JSON.parse(json.body.toString()), {
      error: { code: shownCode, message: row.clientText, status: row.status },
    });
    assert.ok(html.body.includes(row.clientText!));
    assert.ok(html.body.includes(`<title>${row.status} ${html.reason}</title>`));
  });
}

test('bodies are ASCII, small, and name no software', () => {
  for (const code of CODES) {
    for (const accept of [undefined, JSON_ACCEPT]) {
      const body = errorResponse(code, accept).body.toString();
      assert.match(body, /^[\x20-\x7e\n]+$/);
      assert.ok(body.length < 1200, `${code} is ${body.length} bytes`);
      assert.doesNotMatch(body, /uws|uwebsocket|node|127\.0\.0\.1/i);
    }
  }
});

test('only 503 says when to come again, in seconds', () => {
  for (const code of CODES) {
    const { status, retryAfter } = errorResponse(code, undefined);
    if (status === 503) assert.match(retryAfter!, /^[1-9]\d*$/);
    else assert.equal(retryAfter, undefined);
  }
});

test('the same error is the same answer, not a new one', () => {
  assert.equal(errorResponse('DRAINING', '*/*'), errorResponse('DRAINING', undefined));
});

test("the user's page takes the place of ours: for its status, else for the class of it, each kind by itself", () => {
  const withPages = createErrorResponse(
    new Map([
      ['502.html', Buffer.from('page for 502')],
      ['5xx.html', Buffer.from('page for 5xx')],
      ['5xx.json', Buffer.from('{"page":"5xx"}')],
    ]),
  );
  assert.equal(withPages('UPSTREAM_REFUSED', undefined).body.toString(), 'page for 502');
  assert.equal(withPages('UPSTREAM_TIMEOUT', undefined).body.toString(), 'page for 5xx');
  assert.equal(withPages('UPSTREAM_REFUSED', JSON_ACCEPT).body.toString(), '{"page":"5xx"}');
  assert.equal(
    withPages('BAD_REQUEST', undefined).body.toString(),
    errorResponse('BAD_REQUEST', undefined).body.toString(),
  );
  // Only the body is the user's.
  assert.equal(withPages('DRAINING', undefined).retryAfter, '5');
  assert.equal(withPages('DRAINING', undefined).contentType, 'text/html; charset=utf-8');
});
