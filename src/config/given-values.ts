import { isServiceLink } from './service-links.ts';

/** A variable that is set, and where. */
export interface GivenValue {
  /** Without blanks around it, never empty. */
  readonly text: string;
  readonly source: 'environment' | 'file';
}

/**
 * What the environment and the `.env` file say together: the real environment wins, empty means unset (platforms
 * inject empty values), service links of Kubernetes do not count.
 */
export function collectGivenValues(
  env: Readonly<Record<string, string | undefined>>,
  file: Readonly<Record<string, string>>,
): ReadonlyMap<string, GivenValue> {
  const given = new Map<string, GivenValue>();
  for (const [source, values] of [
    ['file', file],
    ['environment', env],
  ] as const) {
    for (const [name, value] of Object.entries(values)) {
      const text = value?.trim() ?? '';
      if (text !== '' && !isServiceLink(name, text)) given.set(name, { text, source });
    }
  }
  return given;
}
