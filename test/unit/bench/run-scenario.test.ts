import { deepStrictEqual, rejects } from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inRepository } from '../../helpers/repository.ts';

interface Outcome {
  readonly peers: Readonly<Record<string, { values?: Record<string, number[]>; cannot?: string }>>;
}
type Round = (proxy: { name: string }) => Promise<Record<string, number>>;

const { runScenario } = (await import(pathToFileURL(inRepository('bench', 'lib', 'run-scenario.mjs')).href)) as {
  runScenario(scenario: unknown, peers: unknown[], run: unknown): Promise<Outcome>;
};

/** Three rounds of a scenario that needs neither app nor proxy. */
const runRounds = (round: Round, isFresh = true) =>
  runScenario(
    { name: 'fake', title: 'a fake', metrics: [{ key: 'cpu', label: 'µs' }], isFresh, round },
    ['uwsrp', 'nginx', 'other'].map((name) => ({ name, cannot: {} })),
    { rounds: 3, seconds: 1 },
  );

/** Fails from the second of its rounds on. */
function failing(failingName: string): { round: Round; calls: () => number } {
  let calls = 0;
  const round: Round = async ({ name }) => {
    if (name === failingName) {
      calls += 1;
      if (calls === 2) throw new Error('30 timeouts\nand more of it');
    }
    return { cpu: 1 };
  };
  return { round, calls: () => calls };
}

test('a proxy that fails is left out from then on, with its reason, and the others go on', async () => {
  const { round, calls } = failing('other');
  const { peers } = await runRounds(round);
  deepStrictEqual(peers, {
    uwsrp: { values: { cpu: [1, 1, 1] } },
    nginx: { values: { cpu: [1, 1, 1] } },
    other: { cannot: 'failed: 30 timeouts' },
  });
  deepStrictEqual(calls(), 2);
});

test('so is one that fails while it warms up', async () => {
  let isFirst = true;
  const { peers } = await runRounds(async ({ name }) => {
    if (name !== 'other' || !isFirst) return { cpu: 1 };
    isFirst = false;
    throw new Error('cold');
  }, false);
  deepStrictEqual(peers.other, { cannot: 'failed: cold' });
});

for (const name of ['uwsrp', 'nginx']) {
  test(`a scenario in which ${name} fails has nothing to tell`, async () => {
    await rejects(runRounds(failing(name).round), { message: `${name}: 30 timeouts\nand more of it` });
  });
}
