import { customCleanEnv, makeExactValidator, type ValidatorSpec } from 'envalid';
import type { Platform } from './config.ts';
import type { GivenValue } from './given-values.ts';
import type { Variable } from './schema.ts';

/** Where a value comes from; `platform`: the default of the platform that was recognised. */
export type ValueSource = 'environment' | 'file' | 'platform' | 'default';

/** A table of variables for the fields of `S`. */
export type VariableTable<S> = { readonly [F in keyof S]: Variable<S[F]> };

export interface ReadVariables<S> {
  /** A field whose variable is invalid has its default. */
  readonly values: S;
  readonly sources: Readonly<Record<keyof S, ValueSource>>;
  /** One line for each invalid variable, by field. */
  readonly problems: ReadonlyMap<keyof S, string>;
}

/** Reads every variable of a table with envalid. Collects what is wrong instead of stopping at it. */
export function readVariables<S extends object>(
  table: VariableTable<S>,
  given: ReadonlyMap<string, GivenValue>,
  platform: Platform | undefined,
): ReadVariables<S> {
  const variables = Object.entries(table) as [keyof S & string, Variable<unknown>][];
  const specs: Record<string, ValidatorSpec<unknown>> = {};
  const texts: Record<string, string> = {};
  const sources = {} as Record<keyof S, ValueSource>;
  for (const [field, variable] of variables) {
    const platformFallback = platform && variable.platformFallbacks?.[platform];
    // envalid takes a default as it is, without the parser, and asks for one where a variable may be missing.
    specs[variable.name] = makeExactValidator((input) => variable.kind.parse(input))({
      default: (platformFallback ?? variable.fallback) as undefined,
    });
    const value = given.get(variable.name);
    if (value !== undefined) texts[variable.name] = value.text;
    sources[field] = value?.source ?? (platformFallback === undefined ? 'default' : 'platform');
  }

  const problems = new Map<keyof S, string>();
  // A reporter of our own: envalid's prints the values, secrets too, and ends the process.
  const cleaned = customCleanEnv(texts, specs, (values) => values as Record<string, unknown>, {
    reporter({ errors }) {
      for (const [field, variable] of variables) {
        const error = errors[variable.name];
        if (error !== undefined) problems.set(field, formatProblem(variable, error));
      }
    },
  });

  const values = {} as S;
  for (const [field, variable] of variables) {
    const value = problems.has(field) ? variable.fallback : cleaned[variable.name];
    values[field] = value as S[typeof field];
  }
  return { values, sources, problems };
}

function formatProblem(variable: Variable<unknown>, error: Error): string {
  const reason = variable.isSecret ? 'the value (not shown) is not valid' : error.message;
  return `${variable.name}: ${reason} (allowed: ${variable.kind.allowed})`;
}
