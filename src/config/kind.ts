import { tryParseBoolean } from '../lib/boolean-text.ts';
import { formatByteSize, parseByteSize } from '../lib/byte-size.ts';
import { formatDuration, parseDuration } from '../lib/duration.ts';
import { quoteValue } from '../lib/quote-value.ts';

/** What a variable's text may be, how it becomes a value, and how the value is shown again. */
export interface Kind<T> {
  /** Completes "allowed: …". */
  readonly allowed: string;
  /** @throws Error whose message says what is wrong; it may quote the text, which is never shown for a secret. */
  parse(text: string): T;
  format(value: T): string;
}

/** Any text that is not empty. */
export function text(allowed: string): Kind<string> {
  return { allowed, parse: (input) => input, format: (value) => value };
}

/** A file of the user's. */
export const path: Kind<string> = text('a path; a relative one counts from the work folder');

/** A text of a certain shape. */
export function pattern(allowed: string, shape: RegExp): Kind<string> {
  return {
    allowed,
    parse(input) {
      if (!shape.test(input)) throw new Error(`${quoteValue(input)} does not have the right form`);
      return input;
    },
    format: (value) => value,
  };
}

/** One of a few words, in any case. */
export function choice<const T extends string>(...words: readonly T[]): Kind<T> {
  return {
    allowed: listWords(words),
    parse(input) {
      const word = words.find((candidate) => candidate === input.toLowerCase());
      if (word === undefined) throw new Error(`${quoteValue(input)} is unknown`);
      return word;
    },
    format: (value) => value,
  };
}

/** On or off, in all the spellings of a boolean. */
export const toggle: Kind<boolean> = {
  allowed: 'on (or true, 1, yes) or off (or false, 0, no)',
  parse(input) {
    const value = tryParseBoolean(input);
    if (value === undefined) throw new Error(`${quoteValue(input)} is unknown`);
    return value;
  },
  format: (value) => (value ? 'on' : 'off'),
};

/** `off`, `on` in all the spellings of a boolean, or one of the further words. */
export function switchOr<const T extends string>(...words: readonly T[]): Kind<'off' | 'on' | T> {
  return {
    allowed: `off (or false, 0, no), on (or true, 1, yes) or ${listWords(words)}`,
    parse(input) {
      const flag = tryParseBoolean(input);
      if (flag !== undefined) return flag ? 'on' : 'off';
      return choice(...words).parse(input);
    },
    format: (value) => value,
  };
}

/** Off, in all the spellings of a boolean, or one of these words. */
export function offOr<const T extends string>(...words: readonly T[]): Kind<'off' | T> {
  return {
    allowed: `off (or false, 0, no), ${listWords(words)}`,
    parse: (input) => (tryParseBoolean(input) === false ? 'off' : choice(...words).parse(input)),
    format: (value) => value,
  };
}

export interface DurationLimits {
  /** What a bare 0 means, when it may be given: `no limit`. */
  readonly zero?: string;
  /** Default: 1 ms. */
  readonly leastMs?: number;
  /** Default: a day; timers of Node overflow after 24.8 days and then fire at once. */
  readonly mostMs?: number;
  readonly isWholeSeconds?: boolean;
}

/** Milliseconds. */
export function duration(limits: DurationLimits = {}): Kind<number> {
  const { zero, leastMs = 1, mostMs = 86_400_000, isWholeSeconds = false } = limits;
  const range =
    leastMs === 1 ? `up to ${formatDuration(mostMs)}` : `from ${formatDuration(leastMs)} to ${formatDuration(mostMs)}`;
  const zeroText = zero === undefined ? '' : `; 0 for ${zero}`;
  return {
    allowed: `a duration with its unit, such as ${isWholeSeconds ? '' : '250ms, '}30s or 5m, ${range}${isWholeSeconds ? ', in whole seconds' : ''}${zeroText}`,
    parse(input) {
      const milliseconds = parseDuration(input);
      if (milliseconds === 0 && zero !== undefined) return 0;
      if (milliseconds < leastMs) throw new Error(`${quoteValue(input)} is less than ${formatDuration(leastMs)}`);
      if (milliseconds > mostMs) throw new Error(`${quoteValue(input)} is more than ${formatDuration(mostMs)}`);
      if (isWholeSeconds && milliseconds % 1000 !== 0) throw new Error(`${quoteValue(input)} is not in whole seconds`);
      return milliseconds;
    },
    format: formatDuration,
  };
}

/** Bytes. `zero` is what a 0 means, when it may be given: `no limit`. */
export function byteSize(least: number, most: number, zero?: string): Kind<number> {
  const zeroText = zero === undefined ? '' : `; 0 for ${zero}`;
  return {
    allowed: `a size in bytes, kb, mb or gb, from ${formatByteSize(least)} to ${formatByteSize(most)}${zeroText}`,
    parse(input) {
      const bytes = parseByteSize(input);
      if (bytes === 0 && zero !== undefined) return 0;
      if (bytes < least) throw new Error(`${quoteValue(input)} is less than ${formatByteSize(least)}`);
      if (bytes > most) throw new Error(`${quoteValue(input)} is more than ${formatByteSize(most)}`);
      return bytes;
    },
    format: formatByteSize,
  };
}

/** A whole number without a unit. */
export function count(least: number, most: number): Kind<number> {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    parse(input) {
      const value = /^[0-9]{1,15}$/.test(input) ? Number(input) : Number.NaN;
      if (Number.isNaN(value)) throw new Error(`${quoteValue(input)} is not a whole number`);
      if (value < least || value > most) throw new Error(`${quoteValue(input)} is out of range`);
      return value;
    },
    format: String,
  };
}

/** Several values by comma; blanks around them and empty ones do not count. */
export function list<T>(item: Kind<T>): Kind<readonly T[]> {
  return {
    allowed: `${item.allowed}; several by comma`,
    parse(input) {
      const parts = input.split(',').map((part) => part.trim());
      const values = parts.filter((part) => part !== '').map((part) => item.parse(part));
      if (values.length === 0) throw new Error(`${quoteValue(input)} holds no value`);
      return values;
    },
    format: (values) => values.map((value) => item.format(value)).join(','),
  };
}

function listWords(words: readonly string[]): string {
  if (words.length === 1) return words[0]!;
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
