import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { ClientPeer } from './peer.ts';
import { Queue } from './queue.ts';
import { RemotePeer } from './remote-peer.ts';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

interface DevToolsMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/**
 * Headless Chromium (Debian's package) with one page, driven by the DevTools protocol over pipes: JSON messages, each
 * with a zero byte after it.
 */
export class Chromium {
  readonly child: ChildProcess;
  readonly #loads = new Queue<void>('the page to load');
  readonly #answers = new Map<number, (message: DevToolsMessage) => void>();
  #onCall: (argument: string) => void = () => {};
  #sessionId: string | undefined;
  #count = 0;
  #text = '';
  readonly #failed: Promise<never>;

  constructor(profile: string) {
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${profile}`];
    this.child = spawn('chromium', [...flags, '--remote-debugging-pipe'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: profile },
    });
    this.#failed = new Promise((_, reject) => this.child.once('error', reject));
    this.#failed.catch(() => {});
    (this.child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => this.#read(text));
    (this.child.stdio[3] as Writable).on('error', () => {});
  }

  async openPage(url: string): Promise<void> {
    const { targetId } = await this.#ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#ask('Target.attachToTarget', { targetId, flatten: true });
    this.#sessionId = sessionId as string;
    await this.#ask('Page.enable');
    await this.#ask('Runtime.enable');
    await this.#ask('Page.navigate', { url });
    await this.#loads.next(10_000);
  }

  /** The page gets a function of this name with one text argument. */
  async provide(name: string, onCall: (argument: string) => void): Promise<void> {
    this.#onCall = onCall;
    await this.#ask('Runtime.addBinding', { name });
  }

  run(script: string): Promise<void> {
    return this.#evaluate(script, false);
  }

  /** Waits until the text of the first element of this selector is this one, which it may be already. */
  async waitForText(selector: string, text: string): Promise<void> {
    const script = `new Promise((resolve) => {
      const seen = () => document.querySelector(${JSON.stringify(selector)})?.textContent;
      const look = () => seen() === ${JSON.stringify(text)} && resolve();
      new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
      look();
    })`;
    await withTimeout(this.#evaluate(script, true), `${selector} of the page to be ${text}`, 10_000);
  }

  /** In order: what is killed leaves helpers behind, which write to the profile for seconds. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    (child.stdio[3] as Writable).write(`${JSON.stringify({ id: 0, method: 'Browser.close' })}\0`);
    const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(kill);
  }

  async #evaluate(expression: string, awaitPromise: boolean): Promise<void> {
    const { exceptionDetails } = await this.#ask('Runtime.evaluate', { expression, awaitPromise });
    if (exceptionDetails !== undefined) throw new Error(`in the page: ${JSON.stringify(exceptionDetails)}`);
  }

  #ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#count += 1;
    const id = this.#count;
    const session = this.#sessionId === undefined ? {} : { sessionId: this.#sessionId };
    const answer = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      this.#answers.set(id, ({ result = {}, error }) => {
        this.#answers.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
    });
    (this.child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return withTimeout(Promise.race([answer, this.#failed]), `Chromium to answer ${method}`, 20_000);
  }

  #read(text: string): void {
    const messages = (this.#text + text).split('\0');
    this.#text = messages.pop()!;
    for (const json of messages) {
      const message = JSON.parse(json) as DevToolsMessage;
      if (message.id !== undefined) this.#answers.get(message.id)?.(message);
      else if (message.method === 'Page.loadEventFired') this.#loads.push();
      else if (message.method === 'Runtime.bindingCalled') this.#onCall(message.params!.payload as string);
    }
  }
}

/** Starts one with a profile of its own, and both are gone after the test. */
export function startChromium(t: TestContext): Chromium {
  const profile = mkdtempSync(join(tmpdir(), 'uwsrp-chromium-'));
  const chromium = new Chromium(profile);
  t.after(async () => {
    await chromium.stop();
    // Its helpers may write on for a moment.
    rmSync(profile, { recursive: true, maxRetries: 10 });
  });
  return chromium;
}

/** The WebSocket of a page in Chromium: what all browsers have. */
export const browserClient: ClientPeer = {
  name: "Chromium's WebSocket",
  // A page is not told the status.
  refusal: /closed with 1006/,
  async start(t, page) {
    const chromium = startChromium(t);
    await chromium.openPage(page);
    const remote = new RemotePeer((json) => void chromium.run(`obey(${JSON.stringify(json)})`), false);
    await chromium.provide('tell', (json) => remote.hear(json));
    await chromium.run(`{${readFileSync(inRepository('test', 'fixtures', 'peers', 'browser-page.js'), 'utf8')}}`);
    return remote.connect;
  },
};
