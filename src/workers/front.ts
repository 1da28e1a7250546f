import type { UpstreamTarget } from '../lib/upstream-target.ts';

/** The public side of the service, as its life sees it: in one thread, or in several that share the port. */
export interface Front {
  /**
   * Gets ready as far as that goes without the app, and gives variables for the command.
   *
   * @throws UwsrpError CONFIG_INVALID when `UWSRP_WS_MODULE` cannot be loaded.
   */
  load(): Promise<Readonly<Record<string, string>>>;
  /** The command has been started: gets ready with what nobody needs before that is ready. May be called again. */
  prepare(): void;
  /**
   * Opens the public port in front of the app, and resolves with its number; undefined when the stop came first. Rejects
   * with BIND_FAILED.
   */
  listen(target: UpstreamTarget): Promise<number | undefined>;
  /** Rejects when it cannot go on serving: then the service is to end in order. */
  readonly failed: Promise<never>;
  /** A stop has begun: from now on health says 503, and every answer closes its connection. */
  startDrain(): void;
  /** Takes no new connections; open ones live on. */
  stopListening(): void;
  /** Closes every WebSocket with 1001. */
  closeWebSockets(): void;
  /** Resolves as soon as no request is in flight and no WebSocket that is being closed is left. */
  whenIdle(): Promise<void>;
  /** Waits as `whenIdle` does and closes every connection there and then, so that no request comes in between. */
  drain(): Promise<void>;
  /** Cuts every connection; resolves when they are gone. */
  close(): Promise<void>;
  /** For SIGHUP: opens UWSRP_LOG_FILE anew wherever else it is open. */
  reopenLogs(): void;
}
