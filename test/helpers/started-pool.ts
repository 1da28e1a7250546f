import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { UpstreamTarget } from '../../src/lib/upstream-target.ts';
import { UpstreamPool, type UpstreamPoolOptions } from '../../src/upstream/upstream-pool.ts';
import { RecordingExchange, type RecordingOptions } from './recording-exchange.ts';
import { type ConnectionScript, type ScriptedApp, startScriptedApp } from './scripted-app.ts';

/** Counters of a pool that has nothing, or nothing but one idle connection. */
export const NOTHING = { inUse: 0, idle: 0, waiting: 0 };
export const ONE_IDLE = { inUse: 0, idle: 1, waiting: 0 };

/** A request with a body of ten bytes, which the test uploads. */
export const UPLOAD: RecordingOptions = { method: 'POST', hasRequestBody: true, lines: ['Content-Length: 10'] };

export interface StartedPool {
  readonly app: ScriptedApp;
  readonly pool: UpstreamPool;
  /** Milliseconds that the pool's clock has been turned on. */
  readonly clock: { ms: number };
  /** Sends an exchange. */
  send(options?: RecordingOptions): RecordingExchange;
}

/** A scripted app on TCP, or on a unix socket, and a pool before it. Both end with the test. */
export async function startPool(
  t: TestContext,
  script: ConnectionScript,
  options: Partial<UpstreamPoolOptions> & { kind?: 'tcp' | 'unix' } = {},
): Promise<StartedPool> {
  const { kind = 'tcp', ...poolOptions } = options;
  const path = kind === 'unix' ? socketPath(t) : undefined;
  const app = await startScriptedApp(t, script, path === undefined ? {} : { path });
  const target: UpstreamTarget =
    path === undefined ? { kind: 'tcp', host: '127.0.0.1', port: app.port } : { kind: 'unix', path };
  const clock = { ms: 0 };
  const pool = new UpstreamPool({ target, now: () => performance.now() + clock.ms, ...poolOptions });
  t.after(() => pool.close());
  const send = (exchangeOptions?: RecordingOptions) => {
    const exchange = new RecordingExchange(exchangeOptions);
    pool.dispatch(exchange);
    return exchange;
  };
  return { app, pool, clock, send };
}

/** A path for a unix socket, in a folder that goes with the test. */
export function socketPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'app.sock');
}
