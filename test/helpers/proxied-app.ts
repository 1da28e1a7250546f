import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ERRORS } from '../../src/lib/errors.ts';
import { connectRaw, type RawResponse, type RawSocket } from './raw-socket.ts';
import { type ConnectionScript, type ScriptedApp, startScriptedApp } from './scripted-app.ts';
import { startUwsrp, type Uwsrp } from './uwsrp.ts';

/** A request that any case may send. */
export const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n';

export interface ProxiedAppOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A request that gets to the app with this environment; a plain GET by default. */
  readonly warmUp?: string;
}

/** What one case works with: its app has counters at 0, and no connection of another case is open. */
export class ProxiedCase {
  readonly t: TestContext;
  readonly app: ScriptedApp;
  readonly uwsrp: Uwsrp;
  readonly clients: RawSocket[] = [];

  constructor(t: TestContext, app: ScriptedApp, uwsrp: Uwsrp) {
    this.t = t;
    this.app = app;
    this.uwsrp = uwsrp;
  }

  /** Sets what the app does on each connection from now on. */
  script(script: ConnectionScript): Promise<void> {
    return this.app.restart(script);
  }

  /** A connection to the public port. */
  async connect(): Promise<RawSocket> {
    const client = await connectRaw(this.uwsrp.port, this.t);
    this.clients.push(client);
    return client;
  }

  /** A connection on which these bytes were sent. */
  async send(bytes: string | Buffer = GET): Promise<RawSocket> {
    const client = await this.connect();
    client.send(bytes);
    return client;
  }

  /**
   * Sends a request whose answer by the app is exactly `answer`, after which the app keeps the connection open, and
   * reads the one response that comes out.
   */
  async ask(answer: string | Buffer, request = GET): Promise<RawResponse> {
    await this.script(answerOnce(answer));
    const client = await this.send(request);
    return client.readResponse({ method: request.slice(0, request.indexOf(' ')) });
  }
}

/** One product process in front of one scripted app, for all cases of a file that want the same environment. */
export class ProxiedApp {
  readonly app: ScriptedApp;
  readonly uwsrp: Uwsrp;
  readonly #t: TestContext;
  #idleFiles = 0;

  constructor(t: TestContext, app: ScriptedApp, uwsrp: Uwsrp) {
    this.#t = t;
    this.app = app;
    this.uwsrp = uwsrp;
  }

  /** Serves one request, so that what is opened once and for all is open. */
  async warmUp(request: string): Promise<void> {
    await this.app.restart(answerOnce('HTTP/1.1 204 No Content\r\n\r\n'));
    const client = await connectRaw(this.uwsrp.port, this.#t);
    client.send(request);
    assert.equal((await client.readResponse()).status, 204);
    await this.app.restart(() => {});
    // Now the client's connection is the only one.
    this.#idleFiles = this.uwsrp.openFiles() - 1;
    client.destroy();
    await this.#untilIdle();
  }

  /** One case, as a subtest. When it is over, the product must have every connection closed that it had for it. */
  async test(name: string, run: (context: ProxiedCase) => Promise<void>): Promise<void> {
    await this.#t.test(name, async (t) => {
      const context = new ProxiedCase(t, this.app, this.uwsrp);
      await this.app.restart(() => {});
      await run(context);
      for (const client of context.clients) client.destroy();
      await this.app.restart(() => {});
      await this.#untilIdle();
    });
  }

  /** The kernel tells nobody when another process closes a file: looking again is the only way. */
  async #untilIdle(): Promise<void> {
    const deadline = Date.now() + 5000;
    for (;;) {
      const open = this.uwsrp.openFiles();
      if (open <= this.#idleFiles) return;
      assert.ok(Date.now() < deadline, `${open} files are open, ${this.#idleFiles} were before`);
      await delay(2);
    }
  }
}

export async function startProxiedApp(t: TestContext, options: ProxiedAppOptions = {}): Promise<ProxiedApp> {
  const app = await startScriptedApp(t, () => {});
  const uwsrp = await startUwsrp(t, { appPort: app.port, env: { UWSRP_LOG_LEVEL: 'info', ...options.env } });
  const proxied = new ProxiedApp(t, app, uwsrp);
  await proxied.warmUp(options.warmUp ?? GET);
  return proxied;
}

/** Answers the first request of each connection with these bytes, and does nothing more. */
export function answerOnce(answer: string | Buffer): ConnectionScript {
  return async (connection) => {
    await connection.readRequest();
    connection.send(answer);
  };
}

/** The answer is one of ours for an error with this status, whole and telling nothing of the inside. */
export function assertErrorAnswer(response: RawResponse, status: number): void {
  const text = response.body.toString();
  assert.equal(response.status, status, text);
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(response.headers.get('retry-after') !== undefined, status === 503, 'Retry-After with 503 only');
  assert.ok(isErrorPage(text, status), `not a page of the error table: ${text}`);
  assert.doesNotMatch(text, /127\.0\.0\.1|localhost|ECONN|EPIPE|uWebSockets|UWSRP/i);
}

/** Whether a body is the page that the error table has for this status. */
export function isErrorPage(text: string, status: number): boolean {
  return Object.values(ERRORS).some(
    (row) => 'status' in row && row.status === status && text.includes(`<p>${row.clientText}</p>`),
  );
}
