import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { StatusRange } from '../config/config.ts';
import { formatTarget, type UpstreamTarget } from '../lib/upstream-target.ts';

export type ProbeResult =
  | { readonly isReady: true; readonly target: UpstreamTarget }
  /** `isCutShort`: the limit ended it, so that the reason says nothing but that. */
  | { readonly isReady: false; readonly reason: string; readonly isCutShort: boolean };

/** Asks once whether the command is ready, within `limitMs`. Resolves with the reason when it is not. */
export type Probe = (limitMs: number, signal: AbortSignal) => Promise<ProbeResult>;

export interface ProbeOptions {
  /** Tried in this order; the one that answered is stayed with for as long as it can be connected to. */
  readonly candidates: readonly UpstreamTarget[];
  /** GET this path; without one, a connection that is accepted is enough. */
  readonly path: string | undefined;
  readonly statuses: readonly StatusRange[];
  /** A file that must exist as well. */
  readonly file: string | undefined;
  readonly userAgent: string;
}

/** What one address said. Only `cannot connect` leads on to the other family; any answer does not. */
type Answer = { kind: 'ready' } | NoAnswer;

interface NoAnswer {
  kind: 'not ready' | 'cannot connect';
  reason: string;
  isCutShort?: boolean;
}

export function createProbe({ candidates, path, statuses, file, userAgent }: ProbeOptions): Probe {
  let answered: UpstreamTarget | undefined;

  return async function probe(limitMs, signal) {
    const refusals: (NoAnswer & { where: string })[] = [];
    for (const target of answered === undefined ? candidates : [answered]) {
      const answer =
        path === undefined
          ? await tryConnect(target, limitMs, signal)
          : await tryRequest({ target, path, statuses, userAgent, limitMs, signal });
      if (answer.kind === 'cannot connect') {
        refusals.push({ ...answer, where: formatTarget(target) });
        continue;
      }
      answered = target;
      if (answer.kind === 'not ready') return notReady(answer.reason, answer.isCutShort);
      if (file !== undefined && !existsSync(file)) return notReady(`UWSRP_READY_FILE: there is no file ${file}`);
      return { isReady: true, target };
    }
    // Nobody there (any more): an app that starts anew may choose the other family.
    answered = undefined;
    return notReady(
      describeRefusals(refusals),
      refusals.some((refusal) => refusal.isCutShort),
    );
  };
}

function notReady(reason: string, isCutShort = false): ProbeResult {
  return { isReady: false, reason, isCutShort };
}

function tryConnect(target: UpstreamTarget, limitMs: number, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect({ ...socketAddress(target), timeout: limitMs });
    const settle = (answer: Answer) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve(answer);
    };
    const abort = () => settle({ kind: 'not ready', reason: 'given up', isCutShort: true });
    signal.addEventListener('abort', abort);
    socket.once('connect', () => settle({ kind: 'ready' }));
    socket.once('timeout', () => settle({ kind: 'cannot connect', reason: 'no answer', isCutShort: true }));
    socket.on('error', (error) => settle({ kind: 'cannot connect', reason: describeError(error) }));
  });
}

interface RequestOptions {
  target: UpstreamTarget;
  path: string;
  statuses: readonly StatusRange[];
  userAgent: string;
  limitMs: number;
  signal: AbortSignal;
}

/** `GET path`, following no redirect: a redirect is an answer like any other, and the statuses say what it means. */
function tryRequest({ target, path, statuses, userAgent, limitMs, signal }: RequestOptions): Promise<Answer> {
  // On Node 24 it takes 20 ms and 7 MB, which only those with a UWSRP_READY_PATH shall pay, while their app boots.
  const { request } = process.getBuiltinModule('node:http');
  return new Promise((resolve) => {
    const outgoing = request({
      ...(target.kind === 'unix' ? { socketPath: target.path } : { host: target.host, port: target.port }),
      path,
      agent: false,
      headers: { Host: 'localhost', 'User-Agent': userAgent, Accept: '*/*', Connection: 'close' },
    });
    const settle = (answer: Answer) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', abort);
      resolve(answer);
    };
    const cut = (reason: string) => {
      settle({ kind: 'not ready', reason, isCutShort: true });
      outgoing.destroy();
    };
    const abort = () => cut('given up');
    const limit = setTimeout(cut, limitMs, `GET ${path} got no answer within ${Math.round(limitMs / 100) / 10} s`);
    signal.addEventListener('abort', abort);
    outgoing.once('response', (response) => {
      const status = response.statusCode ?? 0;
      const isReady = statuses.some(({ from, to }) => from <= status && status <= to);
      settle(isReady ? { kind: 'ready' } : { kind: 'not ready', reason: `GET ${path} answered ${status}` });
      letFinish(response);
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'connect') settle({ kind: 'cannot connect', reason: describeError(error) });
      else settle({ kind: 'not ready', reason: `GET ${path} got no valid answer (${error.message})` });
    });
    outgoing.end();
  });
}

/** Lets the app end its answer undisturbed, for a second: it may have no end. */
function letFinish(response: IncomingMessage): void {
  response.resume().on('error', () => {});
  const cut = setTimeout(() => response.destroy(), 1000).unref();
  response.once('close', () => clearTimeout(cut));
}

function socketAddress(target: UpstreamTarget): { host: string; port: number } | { path: string } {
  return target.kind === 'unix' ? { path: target.path } : { host: target.host, port: target.port };
}

function describeError(error: NodeJS.ErrnoException): string {
  if (error.code === 'ECONNREFUSED') return 'connection refused';
  if (error.code === 'ENOENT') return 'there is no socket';
  return error.code ?? error.message;
}

/** `connection refused on 127.0.0.1:3000 and [::1]:3000`: the first address's reason, and who shares it. */
function describeRefusals(refusals: readonly { reason: string; where: string }[]): string {
  const reason = refusals[0]?.reason ?? 'no answer';
  const places = refusals.filter((refusal) => refusal.reason === reason).map((refusal) => refusal.where);
  return `${reason} on ${places.join(' and ')}`;
}
