/**
 * What the environment sets of a load scenario; docs/load.md has the table. test/load/run hands on to k6 in a container
 * every variable that this file reads.
 */

/** Where the deployment answers, without a slash at the end. */
export const BASE_URL = baseUrl(__ENV.BASE_URL || 'http://localhost:8080');
/** Paths that are asked in turn. */
export const PATHS = list('PATHS', __ENV.PATHS || '/');
/** Seconds that a virtual user waits between two requests. */
export const PAUSE_S = number('PAUSE', __ENV.PAUSE, 1);
/** Slowest answer that 95 of 100 requests may take, in ms. */
export const P95_MS = number('P95_MS', __ENV.P95_MS, 500);
export const RAMP = duration('RAMP', __ENV.RAMP || '15s');

/** A path that sends each message back. */
export const WS_PATH = path('WS_PATH', __ENV.WS_PATH || '/api/echo');
/** Messages that are sent over one connection, each when the one before has come back. */
export const MESSAGES = number('MESSAGES', __ENV.MESSAGES, 20);
export const MESSAGE_BYTES = number('MESSAGE_BYTES', __ENV.MESSAGE_BYTES, 64);

/** A path that sends events. */
export const SSE_PATH = path('SSE_PATH', __ENV.SSE_PATH || '/api/clock');
/** How long an event stream is held open. */
export const SSE_HOLD = duration('SSE_HOLD', __ENV.SSE_HOLD || '10s');

/** Virtual users, each with connections of its own. */
export function virtualUsers(fallback: number): number {
  return number('VUS', __ENV.VUS, fallback);
}

/** How long the load is held, ramps not counted. */
export function holdDuration(fallback: string): string {
  return duration('DURATION', __ENV.DURATION || fallback);
}

function baseUrl(text: string): string {
  if (!/^https?:\/\/[^/]+/.test(text)) throw new Error(`BASE_URL is '${text}' (allowed: http://host or https://host)`);
  return text.replace(/\/+$/, '');
}

function list(name: string, text: string): string[] {
  return text.split(',').map((item) => path(name, item.trim()));
}

function path(name: string, text: string): string {
  if (!text.startsWith('/')) throw new Error(`${name} is '${text}' (allowed: paths that begin with /)`);
  return text;
}

function number(name: string, text: string | undefined, fallback: number): number {
  const value = text ? Number(text) : fallback;
  if (!(value >= 0)) throw new Error(`${name} is '${text}' (allowed: a number)`);
  return value;
}

function duration(name: string, text: string): string {
  if (!/^(\d+(ms|s|m|h))+$/.test(text))
    throw new Error(`${name} is '${text}' (allowed: durations such as 30s, 5m, 1h)`);
  return text;
}
