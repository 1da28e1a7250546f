const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
]);

/** `true/1/yes/on` and `false/0/no/off` in any case; undefined for anything else. */
export function tryParseBoolean(text: string): boolean | undefined {
  return WORDS.get(text.toLowerCase());
}
