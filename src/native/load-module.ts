import { pathToFileURL } from 'node:url';
import { UwsrpError } from '../lib/errors.ts';
import type { NativeApp, NativeContext, NativeModule } from './native-module.ts';

/** Lines of a stack that are told: the error, its place, and the way there. */
const MAX_STACK_LINES = 8;

/**
 * Loads the module at this path (ESM or CommonJS) and calls its default export.
 *
 * @throws UwsrpError CONFIG_INVALID that names the variable, the file and what went wrong.
 */
export async function loadModule(path: string, app: NativeApp, context: NativeContext): Promise<void> {
  const run = defaultExport(await attempt(path, 'cannot be loaded', () => import(pathToFileURL(path).href)));
  if (run === undefined) {
    throw new UwsrpError(
      'CONFIG_INVALID',
      `UWSRP_WS_MODULE: the default export of ${path} is not a function (allowed: export default (app, context) => {…}, or module.exports = (app, context) => {…})`,
    );
  }
  await attempt(path, 'failed in its default export', async () => run(app, context));
}

async function attempt<T>(path: string, what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new UwsrpError('CONFIG_INVALID', `UWSRP_WS_MODULE: ${path} ${what}: ${describe(cause)}`, { cause });
  }
}

/** A compiler's CommonJS has its default export as a field of what Node takes for the default export. */
function defaultExport(namespace: { default?: unknown }): NativeModule | undefined {
  const outer = namespace.default;
  const inner = typeof outer === 'object' && outer !== null ? (outer as { default?: unknown }).default : undefined;
  const found = typeof outer === 'function' ? outer : inner;
  return typeof found === 'function' ? (found as NativeModule) : undefined;
}

/** Without the frames that are Node's or ours to load it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? String(error)).split('\n').filter((line) => !/^\s+at .*node:internal/.test(line));
  return lines.slice(0, MAX_STACK_LINES).join('\n').trimEnd();
}
