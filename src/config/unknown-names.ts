import { nearestName } from '../lib/nearest-name.ts';

const PREFIX = 'UWSRP_';

/**
 * One line for each name that looks like ours and is not, with the nearest one that is. Names are compared without the
 * prefix, so that `UWSRP_PORT` leads to `PORT`.
 */
export function findUnknownNames(
  given: Iterable<string>,
  known: readonly string[],
  tolerated: readonly string[],
): string[] {
  const byStem = new Map(known.map((name) => [stemOf(name), name]));
  const problems: string[] = [];
  for (const name of given) {
    if (!name.startsWith(PREFIX) || known.includes(name) || tolerated.includes(name)) continue;
    const nearest = byStem.get(nearestName(stemOf(name), byStem.keys()) ?? '');
    problems.push(`${name}: unknown variable; did you mean ${nearest}? (allowed: the names that uwsrp --help lists)`);
  }
  return problems.sort();
}

function stemOf(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}
