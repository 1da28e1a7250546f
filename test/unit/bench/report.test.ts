import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inRepository } from '../../helpers/repository.ts';

interface Outcome {
  readonly values?: Readonly<Record<string, readonly number[]>>;
  readonly cannot?: string;
}
interface Report {
  judge(results: unknown): { what: string; asked: string; reached: string; verdict: string; why?: string }[];
  formatText(results: unknown): string;
  formatMarkdown(results: unknown): string;
}

const { judge, formatText, formatMarkdown } = (await import(
  pathToFileURL(inRepository('bench', 'lib', 'report.mjs')).href
)) as Report;

const CPU = { key: 'cpu', label: 'µs CPU per request' };
const RATE = { key: 'rate', label: 'requests per second' };
const GROWTH = { key: 'growth', label: 'MB RSS growth', hasNoRatio: true };

function resultsOf(...scenarios: { name: string; metrics: unknown[]; peers: Record<string, Outcome> }[]) {
  return {
    date: '2026-05-04T10:11:12.131Z',
    machine: { cores: 2, kernel: '6.1.0' },
    runtime: { target: 'host', node: '24.1.0', uws: '3.0.6' },
    rounds: 3,
    seconds: 2,
    peers: ['uwsrp', 'nginx', 'uws-reverse-proxy'].map((name) => ({ name, version: '1.2.3' })),
    scenarios: scenarios.map((scenario) => ({ title: `title of ${scenario.name}`, ...scenario })),
  };
}

const results = resultsOf(
  {
    name: 'get-64',
    metrics: [CPU, RATE],
    peers: {
      uwsrp: { values: { cpu: [12, 10, 11], rate: [50_000, 61_000, 52_000] } },
      nginx: { values: { cpu: [10, 9, 30], rate: [40_000, 50_000, 45_000] } },
      'uws-reverse-proxy': { values: { cpu: [66, 70, 55], rate: [6000, 5000, 7000] } },
    },
  },
  {
    name: 'download-100mb',
    metrics: [RATE, GROWTH],
    peers: {
      uwsrp: { values: { rate: [900], growth: [40] } },
      nginx: { values: { rate: [1000], growth: [2] } },
      'uws-reverse-proxy': { cannot: 'a | reason' },
    },
  },
);

const verdictOn = (what: string) => judge(results).find((budget) => budget.what === what);

test('a budget beside nginx is judged by the ratio of the medians', () => {
  const { why, ...budget } = verdictOn('small GET, CPU per request')!;
  deepStrictEqual(budget, {
    what: 'small GET, CPU per request',
    asked: '≤ 1x of nginx',
    reached: '1.1x',
    verdict: 'missed',
  });
  match(why!, /kernel/);
  strictEqual(verdictOn('100 MB down, rate')?.verdict, 'met', 'exactly what is asked is enough');
});

test('the gain over uws-reverse-proxy is how many times our CPU it needs', () => {
  const budget = verdictOn('small GET, CPU of uws-reverse-proxy per CPU of ours');
  deepStrictEqual([budget?.asked, budget?.reached, budget?.verdict], ['≥ 5x', '6x', 'met']);
});

test('memory is judged by the worst round', () => {
  const growth = [3, 33, 4];
  const grown = resultsOf({ name: 'slow-readers', metrics: [GROWTH], peers: { uwsrp: { values: { growth } } } });
  const budget = judge(grown).find(({ what }) => what === 'RSS growth, slow readers');
  deepStrictEqual([budget?.reached, budget?.verdict], ['33.0 MB', 'missed']);
});

test('a budget without a measurement is neither met nor missed', () => {
  deepStrictEqual(verdictOn('WebSocket echo, 1 in flight, CPU')?.verdict, 'not measured');
  ok(!formatText(results).includes('WebSocket echo'), 'the terminal shows what was measured');
});

test('RESULTS.md has each peer with median, spread and ratio, and the reason of what cannot be', () => {
  const report = formatMarkdown(results);
  match(report, /^- 2026-05-04, 2 cores, Linux 6\.1\.0$/m);
  match(report, /^- uwsrp without a container: Node 24\.1\.0, uWebSockets\.js 3\.0\.6$/m);
  match(report, /^- uwsrp 1\.2\.3, nginx 1\.2\.3, uws-reverse-proxy 1\.2\.3$/m);
  ok(
    report.includes(
      '| title of get-64 | µs CPU per request | 11.0 (10.0–12.0) 1.10x | 10.0 (9.00–30.0) | 66.0 (55.0–70.0) 6.60x |',
    ),
  );
  ok(report.includes('|  | requests per second | 52,000 (50,000–61,000) 1.16x | 45,000 (40,000–50,000) |'));
  ok(report.includes('| title of download-100mb | requests per second | 900 0.90x | 1,000 | a \\| reason |'));
  ok(report.includes('|  | MB RSS growth | 40.0 | 2.00 |  |'), 'growth has no ratio');
});

test('RESULTS.md shows budgets that were not measured too, and names what cannot be measured yet', () => {
  const report = formatMarkdown(results);
  ok(report.includes('| small GET, CPU per request | ≤ 1x of nginx | 1.1x | missed |'));
  ok(report.includes('| image, over its base | ≤ 30.0 MB | – | not measured |'));
  match(report, /Not there yet, so without a row: .*integrated mode/);
});

test('RESULTS.md says why a budget is missed, and has no such part where none is', () => {
  match(formatMarkdown(results), /^- \*\*small GET, CPU per request\*\*, 1\.1x where ≤ 1x of nginx is asked: [A-Z]/m);
  const met = resultsOf({ name: 'image-size', metrics: [], peers: { uwsrp: { values: { added: [20] } } } });
  ok(!formatMarkdown(met).includes('Missed'));
});
