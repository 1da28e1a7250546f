import { wrkScenario } from './wrk-scenario.mjs';

/** Answers of the size that an API gives. */
export const jsonAnswers = [10, 100].map((kilobytes) =>
  wrkScenario({
    name: `json-${kilobytes}kb`,
    title: `${kilobytes} KB of JSON`,
    request: { connections: 64, path: `/${kilobytes}kb.json` },
  }),
);
