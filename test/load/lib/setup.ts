import exec from 'k6/execution';
import http from 'k6/http';
import { BASE_URL, PATHS } from './settings.ts';

/** k6 runs this once, before the load: a deployment that does not answer needs no load to show it. */
export function setup(): void {
  const { status, error } = http.get(`${BASE_URL}${PATHS[0]}`);
  if (status === 0) exec.test.abort(`${BASE_URL} does not answer (${error}). BASE_URL names another deployment.`);
}
