// What a round gives: CPU of the proxy's processes for each unit of work, and how many units a second there were.
import { cpuMicros } from './processes.mjs';

/** The two measures that most scenarios have. `unit` is one word: request, MB. */
export const cpuAndRate = (unit) => [
  { key: 'cpu', label: `µs CPU per ${unit}` },
  { key: 'rate', label: `${plural(unit)} per second` },
];

/** Runs a load that resolves with the number of units it moved through the proxy. */
export async function measureLoad({ pids }, load) {
  const [cpu, start] = [cpuMicros(pids), performance.now()];
  const units = await load();
  const [spent, seconds] = [cpuMicros(pids) - cpu, (performance.now() - start) / 1000];
  if (spent === 0) throw new Error('no CPU was counted: these are not the processes that did the work');
  return { cpu: spent / units, rate: units / seconds };
}

const PLURALS = { MB: 'MB', echo: 'echoes', delivery: 'deliveries' };
const plural = (unit) => PLURALS[unit] ?? `${unit}s`;
