import { quoteValue } from './quote-value.ts';

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/**
 * Milliseconds of `250ms`, `30s`, `5m` or `1h`; a bare `0` is 0.
 *
 * @throws Error that says what is wrong. A bare number other than 0 is refused: seconds and milliseconds are mixed up
 *   too easily.
 */
export function parseDuration(text: string): number {
  const [, digits, unit] = /^(\d+)(ms|s|m|h)?$/.exec(text) ?? [];
  if (digits === undefined) throw new Error(`${quoteValue(text)} is not a duration`);
  const amount = Number(digits);
  if (unit === undefined && amount !== 0) {
    throw new Error(`${quoteValue(text)} has no unit: ms, s, m or h`);
  }
  return amount * UNITS[(unit ?? 's') as keyof typeof UNITS];
}

/** The shortest exact form: `90s`, `5m`, `250ms`; `0s` for none. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  for (const unit of ['h', 'm', 's'] as const) {
    if (milliseconds % UNITS[unit] === 0) return `${milliseconds / UNITS[unit]}${unit}`;
  }
  return `${milliseconds}ms`;
}
