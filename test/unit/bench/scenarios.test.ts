import { deepStrictEqual, match, ok, throws } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inRepository } from '../../helpers/repository.ts';

interface Named {
  readonly name: string;
}
interface Scenario extends Named {
  readonly title: string;
  readonly metrics: readonly { key: string; label: string }[];
}
interface Options {
  readonly scenarios: readonly Named[];
  readonly peers: readonly Named[];
  readonly writes: boolean;
  readonly target: string;
  readonly rounds: number;
}
type Lookup = { of: typeof measured; worst: typeof measured };

const load = (...parts: string[]) => import(pathToFileURL(inRepository('bench', ...parts)).href);
const { SCENARIOS } = (await load('scenarios', 'index.mjs')) as { SCENARIOS: readonly Scenario[] };
const { PEERS } = (await load('peers', 'index.mjs')) as { PEERS: readonly Named[] };
const { BUDGETS } = (await load('budgets.mjs')) as { BUDGETS: readonly { value(lookup: Lookup): number }[] };
const { parseOptions } = (await load('lib', 'options.mjs')) as {
  parseOptions(args: readonly string[], all: { scenarios: readonly Named[]; peers: readonly Named[] }): Options;
};
const names = SCENARIOS.map(({ name }) => name);
const parse = (...args: string[]) => parseOptions(args, { scenarios: SCENARIOS, peers: PEERS });
const namesOf = (all: readonly Named[]) => all.map(({ name }) => name);

/** Fails for what no scenario measures. */
function measured(peer: string, scenario: string, metric: string): number {
  ok(
    PEERS.some(({ name }) => name === peer),
    peer,
  );
  const found = SCENARIOS.find(({ name }) => name === scenario);
  ok(
    found?.metrics.some(({ key }) => key === metric),
    `${scenario} ${metric}`,
  );
  return 1;
}

test('no two scenarios share a name, and the README of the benchmark lists each, in order', () => {
  deepStrictEqual(names, [...new Set(names)]);
  const readme = readFileSync(inRepository('bench', 'README.md'), 'utf8');
  deepStrictEqual(
    [...readme.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, name]) => name),
    names,
  );
});

test('every budget is of something that is measured', () => {
  for (const budget of BUDGETS) budget.value({ of: measured, worst: measured });
});

test('a whole run writes the results, a part of it only when told to', () => {
  deepStrictEqual(namesOf(parse().scenarios), names);
  ok(parse('--rounds', '7').writes);
  ok(!parse('--quick').writes);
  ok(!parse('--only', 'get-64').writes);
  ok(!parse('--peers', 'nginx').writes);
  ok(parse('--only', 'get-64', '--update').writes);
});

test('scenarios and peers can be chosen, in the order of the table, and uwsrp is always there', () => {
  const options = parse('--only', 'post-1kb', 'get-1', '--peers', 'nginx', '--image', 'some:tag');
  deepStrictEqual(namesOf(options.scenarios), ['get-1', 'post-1kb']);
  deepStrictEqual(namesOf(options.peers), ['uwsrp', 'nginx']);
  deepStrictEqual(options.target, 'image');
});

test('the quick form can be told to do more rounds', () => {
  deepStrictEqual(parse('--quick', '--rounds', '9').rounds, 9);
});

test('what is wrong with the options is said', () => {
  throws(() => parse('--only', 'get-65'), /there is no scenario get-65 \(get-1, /);
  throws(() => parse('--rounds', '0'), /--rounds wants a number from 1 to 99, not 0/);
  throws(() => parse('--rounds'), /--rounds wants a value/);
  throws(() => parse('--peers', 'nginx', '--update'), /--update wants all peers/);
  throws(() => parse('--quick', '--update'), /--update wants all peers/);
  throws(() => parse('--target', 'moon'), /--target wants one of host, image, not moon/);
  throws(
    () => parse('--fast'),
    (error: Error) => {
      match(error.message, /^--fast is not an option\n\nnpm run bench/);
      return true;
    },
  );
});
