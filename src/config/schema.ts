import { availableParallelism } from 'node:os';
import type { Config, Platform } from './config.ts';
import {
  byteSize,
  choice,
  count,
  duration,
  type Kind,
  list,
  offOr,
  path,
  pattern,
  switchOr,
  text,
  toggle,
} from './kind.ts';
import {
  bindAddress,
  headerName,
  hostName,
  port,
  redisUrl,
  requestPath,
  statusRanges,
  strictTransportSecurity,
  trustProxy,
} from './network-kinds.ts';
import { PLATFORM_NAMES } from './platform.ts';

/** One environment variable. `T` holds undefined where "not set" is a value of its own. */
export interface Variable<T> {
  readonly name: string;
  readonly kind: Kind<NonNullable<T>>;
  /** One sentence or two; Markdown with backticks. */
  readonly meaning: string;
  /** The value when nothing is set. */
  readonly fallback: T;
  /** Where a platform asks for another one. */
  readonly platformFallbacks?: Readonly<Partial<Record<Platform, NonNullable<T>>>>;
  /** For a default that the fallback's own text does not tell. */
  readonly defaultText?: string;
  /** Then no message and no output ever shows the value. */
  readonly isSecret?: true;
}

/** The fields of Config that come from a variable, as the variables say it: before one is derived from another. */
export interface Settings
  extends Omit<
    Config,
    'platform' | 'isOneOff' | 'workDirectory' | 'childEnvironment' | 'drainTimeoutMs' | 'forwardedFor'
  > {
  /** Undefined: derived from the shutdown timeout (stop-times.ts). */
  readonly drainTimeoutMs: number | undefined;
  readonly forwardedFor: 'auto' | Config['forwardedFor'];
}

export type Setting = keyof Settings;

/**
 * Every variable, in the order in which tables show them. Loading, the check for unknown names, `--help`, `--check`
 * and the README's table all come from here: a new variable is a field of Config and an entry of this table.
 */
export const SCHEMA: { readonly [S in Setting]: Variable<Settings[S]> } = {
  port: {
    name: 'PORT',
    kind: port('any free port'),
    fallback: 8080,
    meaning: 'Public port; the platform sets it. With 0 the system chooses a free one, which the log names.',
  },
  host: {
    name: 'UWSRP_HOST',
    kind: bindAddress,
    fallback: undefined,
    defaultText: 'all interfaces, IPv4 and IPv6',
    meaning: 'Address to bind.',
  },
  mode: {
    name: 'UWSRP_MODE',
    kind: {
      ...choice('standalone', 'off'),
      parse(input) {
        if (input.toLowerCase() === 'integrated') throw new Error('"integrated" is not in this version');
        return choice('standalone', 'off').parse(input);
      },
    },
    fallback: 'standalone',
    meaning:
      '`standalone`: the proxy in front of the command. `off`: the command as it is, without proxy, for jobs and shells.',
  },
  command: {
    name: 'UWSRP_COMMAND',
    kind: text('a command line for /bin/sh, such as node server.js'),
    fallback: undefined,
    meaning:
      'Command to run when none is given as arguments; without it the `UWSRP_PROCESS` line of the Procfile, then `npm start`.',
  },
  process: {
    name: 'UWSRP_PROCESS',
    kind: pattern('the name of a Procfile line: letters, digits, - and _', /^[A-Za-z0-9_-]+$/),
    fallback: 'web',
    meaning: 'Line of the Procfile that is run when neither arguments nor `UWSRP_COMMAND` give a command.',
  },
  appPort: {
    name: 'UWSRP_APP_PORT',
    kind: port(),
    fallback: undefined,
    defaultText: 'a free port',
    meaning: 'Private port of the app, handed to the command as its `PORT`; any process may serve it.',
  },
  appPortVariable: {
    name: 'UWSRP_APP_PORT_VARIABLE',
    kind: pattern('a variable name: letters, digits and _, no digit first', /^[A-Za-z_][A-Za-z0-9_]*$/),
    fallback: 'PORT',
    meaning: "Name of the command's variable that holds the private port (or socket path).",
  },
  appSocket: {
    name: 'UWSRP_APP_SOCKET',
    kind: path,
    fallback: undefined,
    meaning: "Path of a unix socket that the app listens on instead of a port; the command's `PORT` is the path.",
  },
  readyPath: {
    name: 'UWSRP_READY_PATH',
    kind: requestPath(true),
    fallback: undefined,
    defaultText: '– (TCP connect)',
    meaning: 'Path that is asked until the app is ready; without it, being connectable is being ready.',
  },
  readyStatus: {
    name: 'UWSRP_READY_STATUS',
    kind: statusRanges,
    fallback: [{ from: 200, to: 399 }],
    meaning: 'Statuses of `UWSRP_READY_PATH` that mean ready.',
  },
  readyFile: {
    name: 'UWSRP_READY_FILE',
    kind: path,
    fallback: undefined,
    meaning: 'Also wait until this file exists.',
  },
  readyTimeoutMs: {
    name: 'UWSRP_READY_TIMEOUT',
    kind: duration({ zero: 'no limit' }),
    fallback: 300_000,
    platformFallbacks: { heroku: 55_000, scalingo: 55_000, 'cloud-run': 230_000 },
    meaning:
      'How long the app may take to become ready, else exit 69 with the reason (and a `UWSRP_WS_MODULE` to load, else 78); 0 means no limit.',
  },
  drainDelayMs: {
    name: 'UWSRP_DRAIN_DELAY',
    kind: duration({ zero: 'none' }),
    fallback: 0,
    platformFallbacks: { kubernetes: 5000 },
    meaning: 'How long connections are still accepted after SIGTERM, for routers that learn of the stop late.',
  },
  drainTimeoutMs: {
    name: 'UWSRP_DRAIN_TIMEOUT',
    kind: duration({ zero: 'no wait' }),
    fallback: undefined,
    defaultText: '40 % of the shutdown timeout',
    meaning: 'How long requests in flight may take before the app gets SIGTERM; 0 means no wait.',
  },
  shutdownTimeoutMs: {
    name: 'UWSRP_SHUTDOWN_TIMEOUT',
    kind: duration(),
    fallback: 9000,
    platformFallbacks: {
      heroku: 25_000,
      render: 25_000,
      scalingo: 25_000,
      dokku: 25_000,
      kubernetes: 25_000,
      'cloud-run': 8000,
      fly: 4000,
    },
    meaning: 'How long the whole stop may take, then SIGKILL; drain delay and drain timeout must fit in.',
  },
  forceSsl: {
    name: 'UWSRP_FORCE_SSL',
    kind: switchOr('strict'),
    fallback: 'off',
    meaning:
      '`on`: redirect to https when a believed `X-Forwarded-Proto` says http. `strict`: also when it is absent or not believed.',
  },
  forceSslExempt: {
    name: 'UWSRP_FORCE_SSL_EXEMPT',
    kind: list(requestPath(false)),
    fallback: [],
    defaultText: '–',
    meaning: 'Exact paths that are never redirected, by comma; the health path never is.',
  },
  canonicalHost: {
    name: 'UWSRP_CANONICAL_HOST',
    kind: hostName,
    fallback: undefined,
    meaning: 'Requests for other hosts are redirected to this one; health and exempt paths never are.',
  },
  hsts: {
    name: 'UWSRP_HSTS',
    kind: strictTransportSecurity,
    fallback: undefined,
    meaning: "`Strict-Transport-Security` value, on https answers only; the app's own wins.",
  },
  trustProxy: {
    name: 'UWSRP_TRUST_PROXY',
    kind: trustProxy,
    fallback: { kind: 'auto' },
    meaning:
      'Whose forwarded headers are believed: `auto` (peers in private, loopback, link-local, CGNAT or ULA ranges), `all`, `none`, or addresses and CIDR ranges by comma.',
  },
  forwardedFor: {
    name: 'UWSRP_FORWARDED_FOR',
    kind: choice('auto', 'append', 'keep'),
    fallback: 'auto',
    meaning:
      "`append` adds the peer to a believed `X-Forwarded-For`, `keep` leaves the router's list as it is; `auto` is `keep` on a recognised platform, else `append`. Without the header the peer is always set.",
  },
  clientIpHeader: {
    name: 'UWSRP_CLIENT_IP_HEADER',
    kind: headerName,
    fallback: undefined,
    meaning:
      "Header that holds the client's address (`Fly-Client-IP`, `CF-Connecting-IP`), for `X-Forwarded-For` and the log.",
  },
  keepAlive: {
    name: 'UWSRP_KEEP_ALIVE',
    kind: switchOr('auto'),
    fallback: 'auto',
    meaning:
      'Client connections: `on`: kept for `UWSRP_KEEP_ALIVE_TIMEOUT` where the build of uWebSockets.js can, else for its own 10 s. `off`: every answer closes. `auto`: `on` where the build can, else `off` behind a router that pools connections (Heroku, Render, Scalingo, Fly.io, Railway, Cloud Run, App Platform).',
  },
  keepAliveTimeoutMs: {
    name: 'UWSRP_KEEP_ALIVE_TIMEOUT',
    kind: duration({ leastMs: 10_000, mostMs: 3_600_000 }),
    fallback: 95_000,
    platformFallbacks: { 'cloud-run': 620_000 },
    meaning: 'How long an idle client connection is kept; longer than the router pools it.',
  },
  keepAliveMax: {
    name: 'UWSRP_KEEP_ALIVE_MAX',
    kind: count(0, 100_000),
    fallback: 1024,
    meaning: 'Most idle client connections that are kept for longer than 10 s; 0 leaves all to uWebSockets.js.',
  },
  maxHeaderBytes: {
    name: 'UWSRP_MAX_HEADER_SIZE',
    // uWebSockets.js' own default is 4 KiB. Each connection can hold this much before a request is known.
    kind: byteSize(4096, 1024 ** 2),
    fallback: 65_536,
    meaning: 'Largest head of a request, else 431.',
  },
  maxBodyBytes: {
    name: 'UWSRP_MAX_BODY_SIZE',
    kind: byteSize(1, Number.MAX_SAFE_INTEGER, 'no limit'),
    fallback: 0,
    meaning: 'Largest body of a request, else 413; 0 means no limit.',
  },
  uploadIdleTimeoutMs: {
    name: 'UWSRP_UPLOAD_IDLE_TIMEOUT',
    kind: duration({ leastMs: 1000 }),
    fallback: 60_000,
    meaning: 'How long a client may be silent in the middle of its body, then 408.',
  },
  appConnections: {
    name: 'UWSRP_APP_CONNECTIONS',
    kind: count(1, 65_535),
    fallback: 1024,
    meaning: 'Most connections to the app; further requests wait for one.',
  },
  appQueueTimeoutMs: {
    name: 'UWSRP_APP_QUEUE_TIMEOUT',
    kind: duration(),
    fallback: 30_000,
    meaning: 'How long a request waits for a connection to the app, then 503 with `Retry-After`.',
  },
  workers: {
    name: 'UWSRP_WORKERS',
    kind: {
      allowed: `${count(1, 64).allowed}, or auto for one per core`,
      parse: (input) =>
        input.toLowerCase() === 'auto' ? Math.min(64, availableParallelism()) : count(1, 64).parse(input),
      format: String,
    },
    fallback: 1,
    meaning:
      'Threads that serve, on the same port; `auto` is one per core. For a proxy that takes a whole core: most apps are the limit long before.',
  },
  appPipelining: {
    name: 'UWSRP_APP_PIPELINING',
    kind: count(1, 64),
    fallback: 1,
    meaning:
      'Most requests on one connection to the app at a time, answered in order. Above 1, `GET`, `HEAD` and `OPTIONS` without a body share connections: faster for an app with quick answers; a slow answer holds up those behind it.',
  },
  connectTimeoutMs: {
    name: 'UWSRP_CONNECT_TIMEOUT',
    kind: duration(),
    fallback: 5000,
    meaning: 'How long a connection to the app may take to open, then 502.',
  },
  responseTimeoutMs: {
    name: 'UWSRP_RESPONSE_TIMEOUT',
    kind: duration({ zero: 'no limit' }),
    fallback: 0,
    meaning:
      'How long the app may take from the end of a request to the first byte of its response, then 504; 0 means no limit.',
  },
  requestId: {
    name: 'UWSRP_REQUEST_ID',
    kind: toggle,
    fallback: true,
    meaning:
      'Make an `X-Request-Id` when the client sends none, or an unsafe one; it goes to the app, the client and the log.',
  },
  healthPath: {
    name: 'UWSRP_HEALTH_PATH',
    kind: requestPath(false),
    fallback: undefined,
    meaning:
      'GET and HEAD on exactly this path are answered by the proxy: 200 while the app runs and can be connected, 503 when stopping.',
  },
  wsModule: {
    name: 'UWSRP_WS_MODULE',
    kind: path,
    fallback: undefined,
    meaning: 'Module (ESM or CommonJS) with native uWebSockets.js handlers, which are served in the proxy.',
  },
  pubsubUrl: {
    name: 'UWSRP_PUBSUB_URL',
    kind: redisUrl,
    fallback: undefined,
    isSecret: true,
    meaning: 'Redis by which what is published on one instance reaches the native subscribers of all.',
  },
  wsMaxMessageBytes: {
    name: 'UWSRP_WS_MAX_MESSAGE',
    kind: byteSize(1, 1024 ** 3),
    fallback: 16_777_216,
    meaning: 'Largest WebSocket message, else close code 1009.',
  },
  wsIdleTimeoutMs: {
    name: 'UWSRP_WS_IDLE_TIMEOUT',
    // The bounds of uWebSockets.js, which counts in seconds.
    kind: duration({ leastMs: 8000, mostMs: 960_000, isWholeSeconds: true }),
    fallback: 60_000,
    meaning: 'A WebSocket that is silent this long is closed; pings keep a live one busy.',
  },
  wsCompression: {
    name: 'UWSRP_WS_COMPRESSION',
    kind: offOr('shared', 'dedicated'),
    fallback: 'off',
    meaning:
      'permessage-deflate with clients that offer it. `shared`: each message for itself, no memory for a connection. `dedicated`: each may refer to the last ones, for 75 KB a connection.',
  },
  accessLog: {
    name: 'UWSRP_ACCESS_LOG',
    kind: choice('off', 'errors', 'all'),
    fallback: 'errors',
    meaning:
      'Requests that the log tells of: `errors` are answers from 500 on, cut ones, and clients that left before theirs (499).',
  },
  errorPages: {
    name: 'UWSRP_ERROR_PAGES',
    kind: path,
    fallback: undefined,
    meaning:
      'Folder with your own pages for the errors that uwsrp makes, such as `502.html`, `5xx.html` and `503.json`.',
  },
  logLevel: {
    name: 'UWSRP_LOG_LEVEL',
    kind: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    meaning: "Least severe lines of uwsrp's own log that are written.",
  },
  logFormat: {
    name: 'UWSRP_LOG_FORMAT',
    kind: choice('json', 'pretty'),
    fallback: 'json',
    meaning: '`json`: one object a line. `pretty`: for people.',
  },
  logFile: {
    name: 'UWSRP_LOG_FILE',
    kind: path,
    fallback: undefined,
    defaultText: '– (stdout)',
    meaning: "File that uwsrp's own log is appended to, reopened on SIGHUP.",
  },
  dotenvFile: {
    name: 'UWSRP_DOTENV',
    kind: text('the path of a file that can be read, or off'),
    fallback: undefined,
    defaultText: '`.env` in the work folder, if there is one',
    meaning:
      'File with further variables for uwsrp and the command, or `off`; the real environment wins, and this name is read only there.',
  },
};

/** Names uwsrp sets itself: not the user's, so not checked, and not handed on to the command as they came. */
export const OWN_NAMES: readonly string[] = ['UWSRP_APP_NODE_OPTIONS', 'UWSRP_PUBLISH_URL', 'UWSRP_PUBLISH_TOKEN'];

/** The default as tables show it: `5m (55s on Heroku and Scalingo, 230s on Cloud Run)`, `–` for none. */
export function formatDefault<T>(variable: Variable<T>): string {
  const { kind, fallback, platformFallbacks = {}, defaultText } = variable;
  if (defaultText !== undefined) return defaultText;
  const general = fallback === undefined || fallback === null ? '–' : kind.format(fallback);
  const platforms = new Map<string, string[]>();
  for (const [platform, value] of Object.entries(platformFallbacks) as [Platform, NonNullable<T>][]) {
    const shown = kind.format(value);
    platforms.set(shown, [...(platforms.get(shown) ?? []), PLATFORM_NAMES[platform]]);
  }
  if (platforms.size === 0) return general;
  const others = [...platforms].map(([shown, names]) => `${shown} on ${formatNames(names)}`);
  return `${general} (${others.join(', ')})`;
}

function formatNames(names: readonly string[]): string {
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
