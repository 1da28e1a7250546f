const LONGEST = 80;

/** A user's value for a one-line message: in double quotes, control characters escaped, cut after 80 characters. */
export function quoteValue(text: string): string {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}
