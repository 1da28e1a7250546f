import { check, sleep } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { BASE_URL, PATHS, PAUSE_S } from './settings.ts';

/** One request of a virtual user, then its pause. The paths take turns over all users. */
export function browse(): void {
  const path = PATHS[exec.scenario.iterationInTest % PATHS.length];
  const response = http.get(`${BASE_URL}${path}`, { tags: { name: `${path}` } });
  check(response, { 'status is 2xx': ({ status }) => status >= 200 && status < 300 });
  sleep(PAUSE_S);
}
