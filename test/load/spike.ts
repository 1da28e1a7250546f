// A tenth of the users, then all of them at once, then a tenth again: the time after the spike shows what it left behind.
import type { Options } from 'k6/options';
import { browse } from './lib/browse.ts';
import { holdDuration, P95_MS, virtualUsers } from './lib/settings.ts';

export { setup } from './lib/setup.ts';
export default browse;

const users = virtualUsers(500);
const few = Math.ceil(users / 10);
const hold = holdDuration('30s');

export const options: Options = {
  scenarios: {
    before: { executor: 'constant-vus', vus: few, duration: hold, gracefulStop: '10s' },
    spike: { executor: 'constant-vus', vus: users, duration: hold, startTime: hold, gracefulStop: '10s' },
    after: {
      executor: 'constant-vus',
      vus: few,
      duration: hold,
      startTime: sum(hold, hold, '10s'),
      gracefulStop: '10s',
    },
  },
  thresholds: {
    'http_req_failed{scenario:before}': ['rate<0.001'],
    'http_req_failed{scenario:spike}': ['rate<0.01'],
    'http_req_failed{scenario:after}': ['rate<0.001'],
    'http_req_duration{scenario:after}': [`p(95)<${P95_MS}`],
  },
};

/** k6 adds durations that stand side by side. */
function sum(...durations: string[]): string {
  return durations.join('');
}
