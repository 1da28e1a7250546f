// A steady load for a long time: leaks of memory, files or connections show as answers that get slow or fail.
import type { Options } from 'k6/options';
import { browse } from './lib/browse.ts';
import { holdDuration, P95_MS, virtualUsers } from './lib/settings.ts';

export { setup } from './lib/setup.ts';
export default browse;

export const options: Options = {
  scenarios: {
    soak: { executor: 'constant-vus', vus: virtualUsers(20), duration: holdDuration('1h') },
  },
  thresholds: {
    checks: ['rate>0.999'],
    // Nobody waits an hour for what is clear after ten minutes.
    http_req_failed: [{ threshold: 'rate<0.001', abortOnFail: true, delayAbortEval: '1m' }],
    http_req_duration: [`p(95)<${P95_MS}`],
  },
};
