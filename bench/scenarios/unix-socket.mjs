import { wrkScenario } from './wrk-scenario.mjs';

/** The small GET with a unix socket between proxy and app. */
export const unixSocket = wrkScenario({
  name: 'unix-socket',
  title: 'small GET, app on a unix socket',
  over: 'unix socket',
  request: { connections: 64 },
});
