// Event streams that are opened and held. k6 reads an answer to its end, which such a stream need not have: what is still
// open after SSE_HOLD is cut by k6's own time limit, and that is the good case.
import { check } from 'k6';
import http from 'k6/http';
import { Rate, Trend } from 'k6/metrics';
import type { Options } from 'k6/options';
import { BASE_URL, holdDuration, P95_MS, SSE_HOLD, SSE_PATH, virtualUsers } from './lib/settings.ts';

export { setup } from './lib/setup.ts';

/** https://grafana.com/docs/k6/latest/javascript-api/error-codes/ */
const TIMED_OUT = 1050;
const openMs = new Trend('sse_open', true);
const failed = new Rate('sse_failed');

export const options: Options = {
  scenarios: {
    sse: { executor: 'constant-vus', vus: virtualUsers(50), duration: holdDuration('1m'), gracefulStop: SSE_HOLD },
  },
  thresholds: {
    checks: ['rate>0.999'],
    sse_failed: ['rate<0.001'],
    sse_open: [`p(95)<${P95_MS}`],
  },
};

export default function holdStream(): void {
  const response = http.get(`${BASE_URL}${SSE_PATH}`, {
    headers: { Accept: 'text/event-stream' },
    tags: { name: SSE_PATH },
    timeout: SSE_HOLD,
  });
  // When time ran out k6 gives no status; that a first byte came shows in the time it took.
  const { error_code, headers, status, timings } = response;
  const isStream = error_code === TIMED_OUT ? timings.waiting > 0 : status === 200 && isEvents(headers['Content-Type']);
  check(response, { 'is an event stream': () => isStream });
  failed.add(!isStream);
  if (isStream) openMs.add(timings.waiting);
}

function isEvents(contentType: string | undefined): boolean {
  return contentType?.startsWith('text/event-stream') ?? false;
}
