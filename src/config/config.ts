/** Platforms that are recognised by the marks they leave in the environment (platforms.md section 1). */
export type Platform =
  | 'heroku'
  | 'render'
  | 'fly'
  | 'railway'
  | 'cloud-run'
  | 'scalingo'
  | 'dokku'
  | 'app-platform'
  | 'kubernetes';

export type ForceSsl = 'off' | 'on' | 'strict';

/** permessage-deflate with clients: not at all, each message for itself, or with a window that lasts. */
export type WebSocketCompression = 'off' | 'shared' | 'dedicated';

/** Whose forwarded headers are believed. `auto`: peers in private, loopback, link-local, CGNAT or ULA ranges. */
export type TrustProxy =
  | { readonly kind: 'auto' | 'all' | 'none' }
  | { readonly kind: 'list'; readonly addresses: readonly string[] };

/** An inclusive range of HTTP statuses. */
export interface StatusRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The whole configuration, read once at boot and frozen. Values are what is in force, with the platform's defaults
 * worked in; times are milliseconds, sizes bytes, and `undefined` means "not set". The variable behind each field,
 * its default and its meaning stand in `schema.ts`.
 */
export interface Config {
  readonly platform: Platform | undefined;
  readonly mode: 'standalone' | 'off';
  /** True for a process that is not to serve (`UWSRP_MODE=off`, or a Heroku dyno that is not `web`). */
  readonly isOneOff: boolean;
  /** Public port; 0 lets the system choose one, which the log then names. */
  readonly port: number;
  /** Address to bind; undefined means all interfaces, IPv4 and IPv6. */
  readonly host: string | undefined;

  readonly command: string | undefined;
  readonly process: string;
  readonly appPort: number | undefined;
  readonly appPortVariable: string;
  readonly appSocket: string | undefined;
  readonly readyPath: string | undefined;
  readonly readyStatus: readonly StatusRange[];
  readonly readyFile: string | undefined;
  /** 0 means no limit. */
  readonly readyTimeoutMs: number;

  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
  readonly shutdownTimeoutMs: number;

  readonly forceSsl: ForceSsl;
  readonly forceSslExempt: readonly string[];
  readonly canonicalHost: string | undefined;
  readonly hsts: string | undefined;
  readonly trustProxy: TrustProxy;
  /** `keep` is what `auto` becomes on a recognised platform; it still appends when the header is absent. */
  readonly forwardedFor: 'append' | 'keep';
  /** In lower case. */
  readonly clientIpHeader: string | undefined;
  /** `auto`: kept where the build can keep them long enough, else closed after each answer behind a pooling router. */
  readonly keepAlive: 'on' | 'off' | 'auto';
  readonly keepAliveTimeoutMs: number;
  readonly keepAliveMax: number;
  readonly maxHeaderBytes: number;
  /** 0 means no limit. */
  readonly maxBodyBytes: number;
  readonly uploadIdleTimeoutMs: number;
  /** Most connections to the app. */
  readonly appConnections: number;
  readonly appQueueTimeoutMs: number;
  /** Threads that serve on the public port. */
  readonly workers: number;
  /** Most requests on one connection to the app at a time. */
  readonly appPipelining: number;
  readonly connectTimeoutMs: number;
  /** 0 means no limit. */
  readonly responseTimeoutMs: number;
  /** Whether requests without a safe `X-Request-Id` get one. */
  readonly requestId: boolean;
  readonly healthPath: string | undefined;

  /** Absolute path of the module with native handlers. */
  readonly wsModule: string | undefined;
  /** Redis that carries what is published between instances; it may hold a password. */
  readonly pubsubUrl: string | undefined;
  readonly wsMaxMessageBytes: number;
  readonly wsIdleTimeoutMs: number;
  readonly wsCompression: WebSocketCompression;

  readonly accessLog: 'off' | 'errors' | 'all';
  /** Folder with pages for errors that uwsrp makes. */
  readonly errorPages: string | undefined;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  readonly logFormat: 'json' | 'pretty';
  readonly logFile: string | undefined;

  /** The work folder: where `.env`, `Procfile` and `package.json` are looked for, and the command runs. */
  readonly workDirectory: string;
  /** The `.env` file that was read, if one was. */
  readonly dotenvFile: string | undefined;
  /**
   * The environment for the user's command: the real one over what `.env` holds, with the app's own NODE_OPTIONS back
   * in place and without the names that uwsrp sets for itself. `PORT` (or `appPortVariable`) is set by the supervisor.
   */
  readonly childEnvironment: Readonly<Record<string, string>>;
}
