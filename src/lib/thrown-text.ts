import { inspect } from 'node:util';

/** What was thrown, in words: the stack of an Error, anything else as it looks. Whatever it is, this does not throw. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  try {
    return thrown instanceof Error ? (thrown.stack ?? String(thrown)) : inspect(thrown);
  } catch {
    return 'something that cannot be shown was thrown';
  }
}
