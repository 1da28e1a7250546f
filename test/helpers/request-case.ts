import assert from 'node:assert/strict';
import type { ProxiedApp, ProxiedCase } from './proxied-app.ts';
import type { RawResponse } from './raw-socket.ts';
import { type AppRequest, eachRequest, respond } from './scripted-app.ts';
import { hasNewerBuild } from './target.ts';

/** The text of a head: a request line and fields, for `a.example` unless one of the fields is a Host. */
export function head(requestLine: string, ...fields: readonly string[]): string {
  const host = fields.some((field) => /^host:/i.test(field)) ? [] : ['Host: a.example'];
  return `${[requestLine, ...host, ...fields].join('\r\n')}\r\n\r\n`;
}

/** A request that is like no other of the cases. */
export const PROBE = head('GET /probe HTTP/1.1');

/** Answers every request with a 200, and gives the list in which they are noted whole, as they come. */
export async function record(run: ProxiedCase): Promise<AppRequest[]> {
  const seen: AppRequest[] = [];
  await run.script(
    eachRequest((request) => {
      seen.push(request);
      return respond('ok');
    }),
  );
  return seen;
}

/** Sends a request that must reach the app, alone and once, and gives it as the app saw it. */
export async function forward(run: ProxiedCase, request: string): Promise<AppRequest> {
  const seen = await record(run);
  const client = await run.send(request);
  const response = await client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
  assert.equal(response.status, 200, response.body.toString());
  assert.equal(seen.length, 1, 'requests at the app');
  return seen[0]!;
}

/** Field lines of a request at the app, without those that uwsrp always adds. */
export function fieldsOf(request: AppRequest): string[] {
  return request.headers.list
    .filter(([name]) => !/^(host|x-forwarded-(for|proto|host|port)|x-request-(start|id))$/i.test(name))
    .map(([name, value]) => `${name}: ${value}`);
}

/**
 * Sends a request that must be answered with one of these statuses, after which the connection ends, and of which no
 * byte may reach the app.
 */
export async function refuse(
  run: ProxiedCase,
  request: string,
  statuses: number | readonly number[] = 400,
): Promise<RawResponse> {
  const seen = await record(run);
  const client = await run.send(request);
  const response = await client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
  assert.ok([statuses].flat().includes(response.status), `${response.status} ${response.body}`);
  assert.equal(response.headers.get('connection'), 'close');
  await client.closed;
  assert.equal(client.unread.length, 0, 'bytes after the answer');
  await assertUntouched(run, seen);
  return response;
}

/**
 * Sends a head that uWebSockets.js itself finds malformed: the newer build answers 400 and closes, the older one says
 * nothing (it closes by its idle timeout). No byte may reach the app.
 */
export async function refuseAsMalformed(run: ProxiedCase, request: string): Promise<void> {
  if (hasNewerBuild) await refuse(run, request, 400);
  else await leaveUnanswered(run, request);
}

/** Sends a head that uWebSockets.js never takes for one: no answer, and no byte to the app. It waits, and then closes. */
export async function leaveUnanswered(run: ProxiedCase, request: string): Promise<void> {
  const seen = await record(run);
  const client = await run.send(request);
  await assertUntouched(run, seen);
  assert.equal(client.received.toString('latin1'), '');
}

/**
 * That no byte of what was sent so far went to the app. uwsrp reads its connections in the order in which bytes came
 * in, so a request that is sent now, and is answered, comes after all of them. `already` requests were to be there; the
 * fields are what a request needs to get to the app.
 */
export async function assertUntouched(
  run: ProxiedCase,
  seen: readonly AppRequest[],
  already = 0,
  ...fields: readonly string[]
): Promise<void> {
  const client = await run.send(head('GET /probe HTTP/1.1', ...fields));
  assert.equal((await client.readResponse()).status, 200);
  const targets = seen.map((request) => `${request.method} ${request.target}`);
  assert.deepEqual(targets.slice(already), ['GET /probe'], 'requests at the app');
  for (const connection of run.app.accepted) assert.equal(connection.unread.toString('latin1'), '');
}

/** Makes one case of each name and request, with the same check. */
export async function forEachCase(
  proxied: ProxiedApp,
  cases: Readonly<Record<string, string>>,
  check: (run: ProxiedCase, request: string) => Promise<unknown>,
): Promise<void> {
  for (const [name, request] of Object.entries(cases)) {
    await proxied.test(name, async (run) => {
      await check(run, request);
    });
  }
}
