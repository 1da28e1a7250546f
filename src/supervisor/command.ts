/** The user's command, ready to be spawned. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** As the user wrote it, for messages and logs. */
  readonly display: string;
  /** Where it was found: `arguments`, `UWSRP_COMMAND`, `Procfile (web)` or `package.json`. */
  readonly source: string;
}
