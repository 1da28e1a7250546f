import { quoteValue } from './quote-value.ts';

const UNITS = { kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * Bytes of `512`, `64kb`, `16mb` or `1gb` (1024-based, units in any case).
 *
 * @throws Error that says what is wrong.
 */
export function parseByteSize(text: string): number {
  const [, digits, unit] = /^(\d+)(kb|mb|gb)?$/.exec(text.toLowerCase()) ?? [];
  if (digits === undefined) throw new Error(`${quoteValue(text)} is not a size`);
  return Number(digits) * (unit === undefined ? 1 : UNITS[unit as keyof typeof UNITS]);
}

/** The shortest exact form: `64kb`, `16mb`, `512`. */
export function formatByteSize(bytes: number): string {
  if (bytes === 0) return '0';
  for (const unit of ['gb', 'mb', 'kb'] as const) {
    if (bytes % UNITS[unit] === 0) return `${bytes / UNITS[unit]}${unit}`;
  }
  return String(bytes);
}
