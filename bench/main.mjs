// `npm run bench`: uwsrp and other proxies, side by side in one run. README.md says what is measured and how.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, release } from 'node:os';
import { endAll, endOnSignals, isEnding } from './lib/cleanup.mjs';
import { parseOptions, USAGE } from './lib/options.mjs';
import { pin } from './lib/processes.mjs';
import { formatMarkdown, formatText } from './lib/report.mjs';
import { runScenario } from './lib/run-scenario.mjs';
import { prepare } from './lib/setup.mjs';
import { PEERS } from './peers/index.mjs';
import { SCENARIOS } from './scenarios/index.mjs';

const resultsFile = new URL('results.json', import.meta.url);
const reportFile = new URL('RESULTS.md', import.meta.url);

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2), { scenarios: SCENARIOS, peers: PEERS }));
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
}

async function main(options) {
  if (options.help) return print(USAGE);
  if (options.list) return print(SCENARIOS.map(({ name, title }) => `${name.padEnd(21)}${title}\n`).join(''));
  endOnSignals();
  const { runtime, ...images } = prepare(options);
  const { rounds, seconds, peers } = options;
  const cores = availableParallelism();
  const allCores = `0-${cores - 1}`;
  const run = { rounds, seconds, ...images, allCores, onRound: tell, onFailure: tellFailure };
  const results = {
    date: new Date().toISOString(),
    machine: { cores, kernel: release() },
    runtime,
    rounds,
    seconds,
    peers: peers.map((peer) => ({ name: peer.name, version: peer.version() })),
    scenarios: [],
  };
  const before = options.update ? readResults(results) : undefined;
  const failures = [];
  for (const scenario of options.scenarios) {
    // This process sends load too, and what it starts stays beside it unless told otherwise: the proxies have the last core.
    const [ownCores, proxyCores] = scenario.isUnpinned ? [allCores, allCores] : ['0', String(cores - 1)];
    try {
      pin(process.pid, ownCores);
      results.scenarios.push(await runScenario(scenario, peers, { ...run, proxyCores }));
      if (options.writes) write(updated(before, results));
    } catch (error) {
      if (isEnding()) break;
      failures.push(`${scenario.name}: ${error.message}`);
      console.error(`FAILED ${failures.at(-1)}`);
    } finally {
      await endAll();
    }
  }
  if (results.scenarios.length > 0) print(`\n${formatText(results)}`);
  for (const failure of failures) console.error(`FAILED ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

function print(text) {
  process.stdout.write(text);
  return 0;
}

/** One line for each round: the first measure of each proxy. */
function tell({ scenario, round, rounds, measured }) {
  const [{ key, label }] = scenario.metrics;
  const values = measured.map(([name, measures]) => `${name} ${measures[key].toFixed(2)}`);
  console.error(`${scenario.name} ${round}/${rounds}: ${values.join(', ')} ${label}`);
}

/** Of a proxy that the others go on without. */
function tellFailure({ scenario, error }) {
  console.error(`${scenario.name}: without ${error.message}`);
}

function write(results) {
  writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(reportFile, formatMarkdown(results));
}

/** The results that are there, if what this run measures may stand beside them. */
function readResults({ runtime, rounds, seconds }) {
  if (!existsSync(resultsFile)) return undefined;
  const before = JSON.parse(readFileSync(resultsFile, 'utf8'));
  const conditions = [before, { runtime, rounds, seconds }].map((one) =>
    JSON.stringify([one.runtime, one.rounds, one.seconds]),
  );
  if (conditions[0] === conditions[1]) return before;
  throw new Error(`the results that are there were measured otherwise: ${conditions.join(' against ')}`);
}

/** The older results, with the scenarios of this run in place of their older selves. */
function updated(before, results) {
  if (before === undefined) return results;
  const isNew = ({ name }) => results.scenarios.some((one) => one.name === name);
  const all = [...before.scenarios.filter((scenario) => !isNew(scenario)), ...results.scenarios];
  const order = SCENARIOS.map(({ name }) => name);
  all.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return { ...results, peers: before.peers, scenarios: all };
}
