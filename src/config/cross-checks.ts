import { formatDuration } from '../lib/duration.ts';
import { quoteValue } from '../lib/quote-value.ts';
import type { ValueSource } from './read-variables.ts';
import type { Setting, Settings } from './schema.ts';
import { type StopTimes, tryFitStopTimes } from './stop-times.ts';

type Sources = Readonly<Record<Setting, ValueSource>>;

interface CrossCheck {
  /** The check runs only when all of these are valid by themselves. */
  readonly settings: readonly Setting[];
  /** The line for settings that do not go together. */
  problem(settings: Settings, sources: Sources): string | undefined;
}

/** What `sun_path` holds besides the closing zero (unix(7)). */
const MAX_SOCKET_PATH_BYTES = 107;

const CHECKS: readonly CrossCheck[] = [
  {
    settings: ['appSocket'],
    problem: ({ appSocket = '' }) =>
      Buffer.byteLength(appSocket) > MAX_SOCKET_PATH_BYTES
        ? `UWSRP_APP_SOCKET: ${quoteValue(appSocket)} is too long for a socket (allowed: a path of at most ${MAX_SOCKET_PATH_BYTES} bytes)`
        : undefined,
  },
  {
    settings: ['workers', 'appConnections'],
    problem: ({ workers, appConnections }) =>
      appConnections < workers
        ? `UWSRP_APP_CONNECTIONS: ${appConnections} cannot be divided among ${workers} workers (allowed: at least UWSRP_WORKERS)`
        : undefined,
  },
  {
    settings: ['appPort', 'appSocket'],
    problem: ({ appPort, appSocket }) =>
      appPort !== undefined && appSocket !== undefined
        ? 'UWSRP_APP_PORT: set together with UWSRP_APP_SOCKET (allowed: one of the two)'
        : undefined,
  },
  {
    settings: ['appPort', 'port'],
    problem: ({ appPort, port }) =>
      appPort !== undefined && appPort === port
        ? `UWSRP_APP_PORT: ${appPort} is the public port, PORT (allowed: another port, or none for a free one)`
        : undefined,
  },
  {
    settings: ['drainTimeoutMs', 'drainDelayMs', 'shutdownTimeoutMs'],
    problem(settings, sources) {
      if (tryGetStopTimes(settings, sources) !== undefined) return undefined;
      const { drainDelayMs, drainTimeoutMs, shutdownTimeoutMs } = settings;
      const subject =
        drainTimeoutMs === undefined
          ? `UWSRP_DRAIN_DELAY: ${formatDuration(drainDelayMs)}`
          : `UWSRP_DRAIN_TIMEOUT: ${formatDuration(drainTimeoutMs)} after a drain delay of ${formatDuration(drainDelayMs)}`;
      return `${subject} leaves nothing of the shutdown timeout of ${formatDuration(shutdownTimeoutMs)} (allowed: UWSRP_DRAIN_DELAY and UWSRP_DRAIN_TIMEOUT together less than UWSRP_SHUTDOWN_TIMEOUT)`;
    },
  },
  {
    settings: ['pubsubUrl', 'wsModule'],
    problem: ({ pubsubUrl, wsModule }) =>
      pubsubUrl !== undefined && wsModule === undefined
        ? 'UWSRP_PUBSUB_URL: set without UWSRP_WS_MODULE, whose messages it carries (allowed: with UWSRP_WS_MODULE)'
        : undefined,
  },
  {
    settings: ['forceSsl', 'trustProxy'],
    problem: ({ forceSsl, trustProxy }) =>
      forceSsl === 'on' && trustProxy.kind === 'none'
        ? 'UWSRP_FORCE_SSL: "on" can never redirect while UWSRP_TRUST_PROXY=none believes no X-Forwarded-Proto (allowed: on with another UWSRP_TRUST_PROXY, strict, or off)'
        : undefined,
  },
];

/** One line for each case of settings that are valid alone and wrong together. */
export function findConflicts(
  settings: Settings,
  sources: Sources,
  isInvalid: (setting: Setting) => boolean,
): string[] {
  return CHECKS.filter((check) => !check.settings.some(isInvalid))
    .map((check) => check.problem(settings, sources))
    .filter((problem) => problem !== undefined);
}

/** The drain delay and timeout in force; undefined when they do not fit into the shutdown timeout. */
export function tryGetStopTimes(settings: Settings, sources: Sources): StopTimes | undefined {
  const isDrainDelaySet = sources.drainDelayMs === 'environment' || sources.drainDelayMs === 'file';
  return tryFitStopTimes({ ...settings, isDrainDelaySet });
}
