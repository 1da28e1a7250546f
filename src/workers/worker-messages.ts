import type { Config } from '../config/config.ts';
import { type ErrorCode, UwsrpError } from '../lib/errors.ts';
import { thrownText } from '../lib/thrown-text.ts';
import type { Message } from '../native/pub-sub.ts';
import type { ThreadFront } from './thread-front.ts';

/** What a worker thread is started with. */
export interface WorkerData {
  readonly config: Config;
  /** From 1 on; its lines in the log say it. */
  readonly worker: number;
}

/** What the service may call in a worker thread. */
export type WorkerCalls = Omit<ThreadFront, 'deliver'> & { reopenLog(): void };

export type CallName = keyof WorkerCalls;

export type ToWorker =
  | { readonly kind: 'call'; readonly id: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly kind: 'deliver'; readonly message: Message };

export type FromWorker =
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'publish'; readonly message: Message }
  /** An error that nothing caught; the thread has closed all it had, and ends. */
  | { readonly kind: 'failed'; readonly error: SentError };

/** An error on its way between threads, which knows no classes. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
}

export function toSent(error: unknown): SentError {
  if (error instanceof UwsrpError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: thrownText(error) };
}

export function fromSent({ code, message }: SentError): UwsrpError {
  return new UwsrpError(code, message);
}
