import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startUwsrp, type Uwsrp } from './uwsrp.ts';
import { startWebSocketApp, type WebSocketApp } from './websocket-app.ts';

const TEXT = 'const text = (buffer) => Buffer.from(buffer).toString();';

/** Writes a module for UWSRP_WS_MODULE; gives its path. It is removed after the test. */
export function moduleFile(t: TestContext, source: string, name = 'handlers.mjs'): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-native-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // In the image another user reads it.
  chmodSync(folder, 0o755);
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

export interface NativeRun {
  readonly uwsrp: Uwsrp;
  /** The app behind it: answers `http` to requests and echoes on WebSockets. */
  readonly app: WebSocketApp;
  url(path: string): string;
}

export interface NativeRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly onOpen?: Parameters<typeof startWebSocketApp>[1];
}

/** A module whose default export has this body; `app`, `context`, and `text` (of an ArrayBuffer) are known in it. */
export function nativeModule(t: TestContext, body: string): string {
  return moduleFile(t, `${TEXT}\nexport default function (app, context) {\n${body}\n}\n`);
}

/** Starts uwsrp with such a module, in front of an app of the test. */
export async function startNative(t: TestContext, body: string, options: NativeRunOptions = {}): Promise<NativeRun> {
  const path = nativeModule(t, body);
  const app = await startWebSocketApp(t, options.onOpen);
  const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_WS_MODULE: path, ...options.env } });
  return { uwsrp, app, url: (target) => `ws://127.0.0.1:${uwsrp.port}${target}` };
}
