import { parentPort, workerData } from 'node:worker_threads';
import { deepFreeze } from '../lib/deep-freeze.ts';
import type { UwsrpError } from '../lib/errors.ts';
import { createLogger } from '../log/logger.ts';
import { withOwnMemory } from '../native/pub-sub.ts';
import { uncaughtError } from '../native/uncaught-error.ts';
import { readErrorPages } from '../proxy/error-pages.ts';
import { ThreadFront } from './thread-front.ts';
import { type FromWorker, type ToWorker, toSent, type WorkerData } from './worker-messages.ts';

// What runs in a worker thread: a front of its own, driven by the service's calls.

const { config, worker } = deepFreeze(workerData as WorkerData);
const log = createLogger(config);
const front = new ThreadFront({
  config,
  errorPages: readErrorPages(config.errorPages),
  log: log.logger.child({ worker }),
  publish: (message) => post({ kind: 'publish', message: withOwnMemory(message) }),
});

/** How long sockets may take to be gone. */
const CLOSING_MS = 500;

let failure: UwsrpError | undefined;

process.on('uncaughtException', (error) => {
  // A thread that ended with its sockets open would leave them to nobody: clients would wait for ever.
  front.close();
  failure = uncaughtError(error, config.wsModule !== undefined);
  post({ kind: 'failed', error: toSent(failure) });
  // uWebSockets.js frees closed sockets later; a thread that ended before that was seen to crash the process.
  setTimeout(() => process.exit(), CLOSING_MS);
});

parentPort!.on('message', (message: ToWorker) => {
  if (message.kind === 'deliver') front.deliver(message.message);
  else void answer(message);
});

async function answer({ id, name, args }: ToWorker & { kind: 'call' }): Promise<void> {
  try {
    // To listen now would open sockets again, and a thread that ends with one crashes the process.
    if (failure !== undefined) throw failure;
    const value = name === 'reopenLog' ? log.reopen() : await call(name, args);
    post({ kind: 'result', id, value });
  } catch (error) {
    post({ kind: 'error', id, error: toSent(error) });
  }
}

function call(name: keyof ThreadFront, args: readonly unknown[]): unknown {
  return (front[name] as (...args: readonly unknown[]) => unknown).apply(front, args as unknown[]);
}

function post(message: FromWorker): void {
  parentPort!.postMessage(message);
}
