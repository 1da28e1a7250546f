import { pathToFileURL } from 'node:url';
import { formatDuration } from '../lib/duration.ts';
import { UwsrpError } from '../lib/errors.ts';
import { thrownText } from '../lib/thrown-text.ts';
import { locateSyntaxError } from './locate-syntax-error.ts';
import type { NativeApp, NativeContext, NativeModule } from './native-module.ts';

/** Lines of a stack that are told: the error, its place, and the way there. */
const MAX_STACK_LINES = 8;
/** As the frames of a stack name this file: the bundle, where there is one. */
const OWN_FILE = /[^\s(]+:(?=\d+:\d+\)?$)/m.exec(new Error().stack ?? '')?.[0];
const HINT_EVERY_MS = 15_000;

/**
 * Loads the module at this path (ESM or CommonJS) and calls its default export; waits for either no longer than
 * `UWSRP_READY_TIMEOUT` says.
 *
 * @throws UwsrpError CONFIG_INVALID that names the variable, the file and what went wrong; also when it takes longer
 * than `UWSRP_READY_TIMEOUT`.
 */
export async function loadModule(path: string, app: NativeApp, context: NativeContext): Promise<void> {
  let waitsFor = 'an await at the top level of the module or of one that it imports';
  const loading = load(path, app, context, () => {
    waitsFor = 'the promise that its default export gave';
  });
  await inTime(loading, context, (waitedMs) => {
    return `UWSRP_WS_MODULE: ${path} is still not loaded after ${formatDuration(waitedMs)}: ${waitsFor} has not settled`;
  });
}

async function load(path: string, app: NativeApp, context: NativeContext, onImported: () => void): Promise<void> {
  const run = defaultExport(await attempt(path, 'cannot be loaded', () => import(pathToFileURL(path).href)));
  if (run === undefined) {
    throw new UwsrpError(
      'CONFIG_INVALID',
      `UWSRP_WS_MODULE: the default export of ${path} is not a function (allowed: export default (app, context) => {…}, or module.exports = (app, context) => {…})`,
    );
  }
  onImported();
  await attempt(path, 'failed in its default export', async () => run(app, context));
}

/**
 * The interval also keeps the thread: a module may wait for what the event loop knows nothing of, and Node would then end
 * with 0 and without a word.
 */
async function inTime(
  loading: Promise<void>,
  context: NativeContext,
  sentence: (waitedMs: number) => string,
): Promise<void> {
  const { config, log } = context;
  const { readyTimeoutMs } = config;
  let waitedMs = 0;
  const hints = setInterval(() => {
    waitedMs += HINT_EVERY_MS;
    log.warn(sentence(waitedMs));
  }, HINT_EVERY_MS);
  let limit: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    if (readyTimeoutMs === 0) return;
    limit = setTimeout(() => {
      const remedy = 'register the routes and return, and wait there for nothing that may not come or needs longer';
      reject(new UwsrpError('CONFIG_INVALID', `${sentence(readyTimeoutMs)} (UWSRP_READY_TIMEOUT): ${remedy}`));
    }, readyTimeoutMs);
  });
  try {
    await Promise.race([loading, expired]);
  } finally {
    clearInterval(hints);
    clearTimeout(limit);
  }
}

async function attempt<T>(path: string, what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new UwsrpError('CONFIG_INVALID', `UWSRP_WS_MODULE: ${path} ${what}: ${await describe(cause, path)}`, {
      cause,
    });
  }
}

/** A compiler's CommonJS has its default export as a field of what Node takes for the default export. */
function defaultExport(namespace: { default?: unknown }): NativeModule | undefined {
  const outer = namespace.default;
  const inner = typeof outer === 'object' && outer !== null ? (outer as { default?: unknown }).default : undefined;
  const found = typeof outer === 'function' ? outer : inner;
  return typeof found === 'function' ? (found as NativeModule) : undefined;
}

/** Without the frames that are Node's or ours to load it, with the place of a SyntaxError. */
async function describe(error: unknown, path: string): Promise<string> {
  const lines = thrownText(error).split('\n');
  // Below our own frames there are only ours.
  const ownAt =
    OWN_FILE === undefined ? -1 : lines.findIndex((line) => /^\s+at /.test(line) && line.includes(OWN_FILE));
  const text = lines
    .slice(0, ownAt === -1 ? undefined : ownAt)
    .filter((line) => !/^\s+at (?:async |.* \()?node:/.test(line))
    .slice(0, MAX_STACK_LINES)
    .join('\n')
    .trimEnd();
  const place = /^SyntaxError: .*$/.test(text) ? await locateSyntaxError(pathToFileURL(path).href, text) : undefined;
  return place === undefined ? text : `${place}\n\n${text}`;
}
