import { wrkScenario } from './wrk-scenario.mjs';

/** A connection of its own for each request, as clients without keep-alive make them. */
export const connectionClose = wrkScenario({
  name: 'connection-close',
  title: 'small GET, `Connection: close`',
  request: { connections: 64, headers: ['Connection: close'] },
});
