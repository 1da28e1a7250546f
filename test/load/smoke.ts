// Does the deployment answer at all? A few requests by one user, none of which may fail.
import type { Options } from 'k6/options';
import { browse } from './lib/browse.ts';
import { P95_MS, PATHS, virtualUsers } from './lib/settings.ts';

export { setup } from './lib/setup.ts';
export default browse;

const users = virtualUsers(1);

export const options: Options = {
  vus: users,
  iterations: users * PATHS.length * 3,
  thresholds: {
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    http_req_duration: [`p(95)<${P95_MS}`],
  },
};
