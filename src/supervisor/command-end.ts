import { constants } from 'node:os';

/** How the command's leader ended. */
export interface CommandEnd {
  /** Its own exit code, or 128+n when signal n ended it. */
  readonly exitCode: number;
  /** For messages: `exited with code 3`, `was ended by SIGTERM`. */
  readonly description: string;
}

/** From what node:child_process says in its `exit` event. */
export function commandEnd(code: number | null, signal: NodeJS.Signals | null): CommandEnd {
  if (signal === null) return { exitCode: code ?? 0, description: `exited with code ${code ?? 0}` };
  return { exitCode: 128 + constants.signals[signal], description: `was ended by ${signal}` };
}
