import { wrkScenario } from './wrk-scenario.mjs';

/** GET with an answer of 13 bytes, over few, some and many connections. */
export const smallGets = [1, 64, 512].map((connections) =>
  wrkScenario({
    name: `get-${connections}`,
    title: `small GET, ${connections} connection${connections === 1 ? '' : 's'}`,
    request: { connections },
  }),
);
