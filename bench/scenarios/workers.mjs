import { wrkScenario } from './wrk-scenario.mjs';

/** What a second thread (for nginx: process) adds, and what it costs. Pinned to one core it could add nothing. */
export const workers = [1, 2].map((count) =>
  wrkScenario({
    name: `workers-${count}`,
    title: `small GET, 128 connections, nothing pinned, ${count} worker${count === 1 ? '' : 's'}`,
    needs: 'workers',
    workers: count,
    isUnpinned: true,
    request: { connections: 128 },
  }),
);
