import { createRequire } from 'node:module';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { LogFile } from './log-file.ts';

export interface Log {
  readonly logger: Logger;
  /** For SIGHUP: opens UWSRP_LOG_FILE anew. Never throws; when it fails, the old file stays in use and says so. */
  reopen(): void;
}

/** Most that is kept while stdout takes nothing, before lines are dropped. */
const MAX_HELD_BYTES = 1_048_576;

/**
 * uwsrp's own log: pino, written synchronously (a line that was logged is out, however the process ends) to stdout or
 * UWSRP_LOG_FILE, as JSON or for people.
 *
 * @throws ConfigError when the file cannot be opened.
 */
export function createLogger(config: Pick<Config, 'logLevel' | 'logFormat' | 'logFile'>): Log {
  const file = config.logFile === undefined ? undefined : openLogFile(config.logFile);
  const target = file ?? openStdout();
  const logger = pino(
    {
      level: config.logLevel,
      base: { name: 'uwsrp' },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    config.logFormat === 'pretty' ? prettify(target, file === undefined) : target,
  );
  return {
    logger,
    reopen() {
      try {
        file?.reopen();
      } catch (error) {
        logger.error({ err: error }, 'UWSRP_LOG_FILE cannot be reopened; the old file stays in use');
      }
    },
  };
}

/**
 * pino turns it into a no-op at EPIPE: a reader that went away must not end the proxy. Other errors (EIO of a lost
 * terminal, ENOSPC of a file that stdout was sent to) would end it as unhandled 'error' events.
 */
function openStdout(): DestinationStream {
  const stdout = destination({ dest: 1, sync: true, maxLength: MAX_HELD_BYTES });
  stdout.on('error', () => {});
  return stdout;
}

function openLogFile(path: string): LogFile {
  try {
    return new LogFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([
      `UWSRP_LOG_FILE: ${JSON.stringify(path)} cannot be opened: ${code ?? message} (allowed: a file that can be appended to, in a folder that exists)`,
    ]);
  }
}

/**
 * pino-pretty's formatter alone: its stream would write later, and lose lines when the process ends. Loaded only here,
 * because it costs some 20 ms of every boot.
 */
function prettify(target: DestinationStream, isColorWanted: boolean): DestinationStream {
  const pretty: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  const colorize = isColorWanted && pretty.isColorSupported;
  const format = pretty.prettyFactory({ colorize, ignore: 'name', translateTime: 'UTC:yyyy-mm-dd HH:MM:ss.l' });
  return { write: (line) => target.write(format(line)) };
}
