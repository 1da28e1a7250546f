// The load of a usual day: users come, stay for DURATION, and leave.
import type { Options } from 'k6/options';
import { browse } from './lib/browse.ts';
import { holdDuration, P95_MS, RAMP, virtualUsers } from './lib/settings.ts';

export { setup } from './lib/setup.ts';
export default browse;

const users = virtualUsers(50);

export const options: Options = {
  stages: [
    { duration: RAMP, target: users },
    { duration: holdDuration('2m'), target: users },
    { duration: RAMP, target: 0 },
  ],
  thresholds: {
    checks: ['rate>0.999'],
    http_req_failed: ['rate<0.001'],
    http_req_duration: [`p(95)<${P95_MS}`],
  },
};
