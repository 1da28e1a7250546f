import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config/config.ts';
import { exitCodeOf, UwsrpError } from './lib/errors.ts';
import { formatTarget } from './lib/upstream-target.ts';
import type { Log } from './log/logger.ts';
import type { ErrorPages } from './proxy/error-pages.ts';
import type { Command } from './supervisor/command.ts';
import { watchSignals } from './supervisor/stop-signals.ts';
import { Supervisor } from './supervisor/supervisor.ts';
import type { Front } from './workers/front.ts';

export interface ServiceOptions {
  readonly config: Config;
  readonly command: Command;
  readonly log: Log;
  readonly version: string;
  readonly errorPages: ErrorPages;
}

/**
 * The life of a container (design section 4), from the first line of the log to the exit code: start the command, wait
 * until it is ready, open the public port, serve, and stop in order. Never rejects.
 */
export async function runService(options: ServiceOptions): Promise<number> {
  const { config, command, version } = options;
  const { logger: log } = options.log;
  const stop = new AbortController();
  const front = await createFront(options);
  const supervisor = new Supervisor({ config, command, log, version, onStarted: () => front.prepare() });
  const unwatch = watchSignals({
    onStop: (signal) => {
      log.info({ signal }, 'stopping');
      stop.abort(signal);
    },
    onKill: (signal) => {
      log.warn({ signal }, 'stopping at once: a second signal came');
      supervisor.kill();
    },
    onHangup: () => {
      options.log.reopen();
      front.reopenLogs();
    },
    passOn: (signal) => supervisor.signal(signal),
  });
  try {
    return await serve(options, supervisor, front, stop.signal);
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) return (await supervisor.ended).exitCode;
    const isOurs = !(error instanceof UwsrpError);
    log.fatal(isOurs ? { err: error } : { code: error.code }, isOurs ? 'a fault of uwsrp' : error.message);
    supervisor.kill();
    return exitCodeOf(error);
  } finally {
    await front.close();
    unwatch();
  }
}

async function serve(
  options: ServiceOptions,
  supervisor: Supervisor,
  front: Front,
  stop: AbortSignal,
): Promise<number> {
  const { config, version } = options;
  const { logger: log } = options.log;
  const startedAt = performance.now();
  if (config.dotenvFile !== undefined) log.info(`read variables from ${config.dotenvFile}`);

  try {
    // A stop while the module is loaded ends in `start`, before the command is spawned.
    const variables = await Promise.race([front.load(), aborted(stop), front.failed]);
    const target = await Promise.race([supervisor.start(stop, variables), front.failed]);
    const readyAt = performance.now();
    const over = Promise.race([aborted(stop), supervisor.leaderEnded.then(() => undefined), front.failed]);
    const port = await Promise.race([front.listen(target), over]);
    if (port === undefined) return await stopInOrder(options, { front, supervisor }, stop);
    log.info(
      {
        version,
        port,
        host: config.host ?? 'all interfaces',
        ...(config.workers > 1 ? { workers: config.workers } : {}),
        app: formatTarget(target),
        platform: config.platform ?? 'none recognised',
        trustProxy: config.trustProxy.kind === 'list' ? config.trustProxy.addresses : config.trustProxy.kind,
        forwardedFor: config.forwardedFor,
        bootMs: Math.round(performance.now() - startedAt),
        appBootMs: Math.round(readyAt - startedAt),
      },
      `listening on port ${port}`,
    );
    await over;
    return await stopInOrder(options, { front, supervisor }, stop);
  } catch (error) {
    if (supervisor.isRunning) await supervisor.end();
    throw error;
  }
}

/** In this thread, or in as many others as `UWSRP_WORKERS` says; then uWebSockets.js is of no use in this one. */
async function createFront({ config, errorPages, log }: ServiceOptions): Promise<Front> {
  const options = { config, errorPages, log: log.logger };
  if (config.workers === 1) return new (await import('./workers/single-front.ts')).SingleFront(options);
  return new (await import('./workers/worker-fronts.ts')).WorkerFronts(options);
}

/** From the first signal, or the command's own end, until nothing of the command is left. */
async function stopInOrder(
  { config, log: { logger: log } }: ServiceOptions,
  { front, supervisor }: { front: Front; supervisor: Supervisor },
  stop: AbortSignal,
): Promise<number> {
  front.startDrain();
  const deadline = setTimeout(() => {
    log.warn(`the command did not end in ${config.shutdownTimeoutMs} ms (UWSRP_SHUTDOWN_TIMEOUT): killing it`);
    supervisor.kill();
  }, config.shutdownTimeoutMs);

  if (stop.aborted) {
    await Promise.race([sleep(config.drainDelayMs), supervisor.ended]);
    front.stopListening();
    front.closeWebSockets();
    await Promise.race([front.drain(), sleep(config.drainTimeoutMs), supervisor.ended]);
    supervisor.terminate();
  } else {
    front.stopListening();
    front.closeWebSockets();
  }

  const end = await supervisor.ended;
  clearTimeout(deadline);
  // What the app still answered is on its way to clients, what it did not has become a 502: both within moments.
  await Promise.race([front.whenIdle(), sleep(LAST_ANSWERS_MS)]);
  log.info({ exitCode: end.exitCode }, `the command ${end.description}`);
  return end.exitCode;
}

/** How long clients may take to read the last answers once the command is gone. */
const LAST_ANSWERS_MS = 1000;

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
