// The results of a run as text: budgets and the whole table, for a terminal and for RESULTS.md.
import { BUDGETS, NOT_YET } from '../budgets.mjs';
import { median } from './statistics.mjs';

const REFERENCE = 'nginx';
const NOT_EXPLAINED = 'Not looked into yet.';

/** Each budget as `{ what, asked, reached, verdict, why }`; verdict is `met`, `missed` or `not measured`, `why` goes with `missed`. */
export function judge(results) {
  const values = (peer, scenario, metric) =>
    results.scenarios.find(({ name }) => name === scenario)?.peers[peer]?.values?.[metric] ?? [];
  const pick = (choose) => (peer, scenario, metric) => {
    const all = values(peer, scenario, metric);
    return all.length === 0 ? Number.NaN : choose(all);
  };
  const lookUp = { of: pick(median), worst: pick((all) => Math.max(...all)) };
  return BUDGETS.map((budget) => {
    const { what, atMost, atLeast, format } = budget;
    const asked = `${atMost === undefined ? '≥' : '≤'} ${format(atMost ?? atLeast)}${against(budget)}`;
    const value = budget.value(lookUp);
    if (Number.isNaN(value)) return { what, asked, reached: '–', verdict: 'not measured' };
    const isMet = atMost === undefined ? value >= atLeast : value <= atMost;
    const why = isMet ? undefined : (budget.ifMissed ?? NOT_EXPLAINED);
    return { what, asked, reached: format(value), verdict: isMet ? 'met' : 'missed', why };
  });
}

const against = ({ unit }) => (unit === undefined ? '' : ` ${unit}`);

/** The rows of the whole table: scenario, measure, and a cell for each peer. */
export function tableRows(results, { withSpread }) {
  return results.scenarios.flatMap((scenario) =>
    scenario.metrics.map((metric, index) => [
      index === 0 ? scenario.title : '',
      metric.label,
      ...results.peers.map(({ name }) => cell(scenario, metric, name, { withSpread, isFirst: index === 0 })),
    ]),
  );
}

/** Median, in brackets the lowest and highest, and how many times that is what nginx has. */
function cell(scenario, metric, peer, { withSpread, isFirst }) {
  const { cannot, values } = scenario.peers[peer] ?? { cannot: 'not run' };
  if (cannot !== undefined) return isFirst ? cannot : '';
  const own = values[metric.key];
  const reference = scenario.peers[REFERENCE]?.values?.[metric.key];
  const spread = withSpread && own.length > 1 ? ` (${number(Math.min(...own))}–${number(Math.max(...own))})` : '';
  const isRatio = !metric.hasNoRatio && reference !== undefined && peer !== REFERENCE;
  return `${number(median(own))}${spread}${isRatio ? ` ${(median(own) / median(reference)).toFixed(2)}x` : ''}`;
}

function number(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

const tableHead = (results) => ['scenario', 'measure', ...results.peers.map(({ name }) => name)];
const BUDGET_HEAD = ['budget', 'asked', 'reached', ''];
const budgetRows = (results) =>
  judge(results).map(({ what, asked, reached, verdict }) => [what, asked, reached, verdict]);

/** For the terminal: the table and the budgets that were measured, in columns. */
export function formatText(results) {
  const budgets = budgetRows(results).filter(([, , , verdict]) => verdict !== 'not measured');
  const parts = [columns([tableHead(results), ...tableRows(results, { withSpread: false })])];
  if (budgets.length > 0) parts.push(columns([BUDGET_HEAD, ...budgets]));
  return `${parts.join('\n\n')}\n`;
}

function columns(rows) {
  const widths = rows[0].map((_, index) => Math.max(...rows.map((row) => row[index].length)));
  return rows
    .map((row) =>
      row
        .map((text, index) => text.padEnd(widths[index]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** RESULTS.md. */
export function formatMarkdown(results) {
  const { machine, runtime, date, rounds, seconds, peers } = results;
  const versions = peers.map(({ name, version }) => `${name} ${version}`).join(', ');
  return `# Results of the benchmark

Written by \`npm run bench\`; [README.md](README.md) says what is measured and how.

- ${date.slice(0, 10)}, ${machine.cores} cores, Linux ${machine.kernel}
- uwsrp ${runtime.target === 'image' ? 'in its image' : 'without a container'}: Node ${runtime.node}, uWebSockets.js ${runtime.uws}
- ${versions}
- Rounds: ${rounds}, each of ${seconds} s for each proxy in turn (fewer where only memory or a size is looked at)

## Budgets

What is asked of uwsrp, and what the median round reached (for RSS growth the worst).

${markdownTable([BUDGET_HEAD, ...budgetRows(results)])}

Not there yet, so without a row: ${NOT_YET.join(', ')}.
${missedSection(results)}
## All scenarios

Medians, in brackets the lowest and the highest round, and the ratio to nginx in the same run. What a proxy cannot do has
the reason in its cell.

${markdownTable([tableHead(results), ...tableRows(results, { withSpread: true })])}
`;
}

/** Nothing where all are met. */
function missedSection(results) {
  const missed = judge(results).filter(({ why }) => why !== undefined);
  if (missed.length === 0) return '';
  return `
### Missed, and why

${missed.map(({ what, reached, asked, why }) => `- **${what}**, ${reached} where ${asked} is asked: ${why}`).join('\n')}
`;
}

function markdownTable([head, ...rows]) {
  const line = (cells) => `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
