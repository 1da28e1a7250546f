import type { Refusal } from './request-fence.ts';

/** An answer of ours, complete. In `fields` chars are bytes (latin-1). */
export interface LocalAnswer {
  readonly status: number;
  readonly statusLine: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Bytes, since the builds of uWebSockets.js write text that is not ASCII in different ways. */
  readonly body: Buffer;
  /** Set when the request was refused: why, for the log. */
  readonly refusal?: Refusal;
}
