import { wrkScenario } from './wrk-scenario.mjs';

/** The small GET with a unix socket between proxy and app. */
export const unixSocket = wrkScenario({
  name: 'unix-socket',
  title: 'small GET, app on a unix socket',
  needs: 'unix socket',
  request: { connections: 64 },
});

/** The same with several requests on one connection to the app, which no other proxy here can do. */
export const pipelining = wrkScenario({
  name: 'pipelining-8',
  title: 'small GET, app on a unix socket, uwsrp with 8 requests on a connection',
  needs: 'unix socket',
  request: { connections: 64 },
  uwsrpSettings: { UWSRP_APP_PIPELINING: '8' },
});
