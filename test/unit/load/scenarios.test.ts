import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { WebSocketServer } from 'ws';
import type { record } from '../../helpers/k6/record.ts';

type Ran = typeof record & { options: Options };

interface Options {
  readonly vus?: number;
  readonly iterations?: number;
  readonly stages?: readonly { duration: string; target: number }[];
  readonly scenarios?: Readonly<Record<string, Record<string, unknown>>>;
  readonly thresholds: Readonly<Record<string, (string | { threshold: string })[]>>;
}

const RUNNER = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'helpers', 'k6-run.js');
const EVENTS = { 'Content-Type': 'text/event-stream' };
const GOOD = { status: 200, error_code: 0, headers: {}, timings: { waiting: 5 } };
const GONE = { status: 0, error_code: 1212, error: 'dial: connection refused', headers: {}, timings: { waiting: 0 } };
const DURATION = /^(\d+(ms|s|m|h))+$/;

/** One iteration of a scenario, with each request answered as given. */
async function run(scenario: string, answer: unknown, env: Record<string, string> = {}): Promise<Ran> {
  const { stdout } = await promisify(execFile)(process.execPath, [RUNNER, scenario], {
    env: { PATH: process.env.PATH, K6_STAND_IN_ANSWER: JSON.stringify(answer), ...env },
  });
  return JSON.parse(stdout) as Ran;
}

/** A WebSocket server that treats each message as given; its address as BASE_URL. */
async function webSockets(t: TestContext, treat: (message: Buffer) => Buffer | undefined): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/api/echo' });
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      const answer = treat(data as Buffer);
      if (answer === undefined) socket.terminate();
      else socket.send(answer, { binary: isBinary });
    });
  });
  t.after(() => server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const passedOf = ({ checks }: Ran) => checks.map(({ passed }) => passed);

test('every threshold is of a metric that there is, in the words of k6', async () => {
  for (const scenario of ['smoke', 'load', 'spike', 'soak', 'websocket', 'sse']) {
    const { options, metrics } = await run(scenario, { ...GOOD, headers: EVENTS }, { BASE_URL: 'http://127.0.0.1:1' });
    const thresholds = Object.entries(options.thresholds);
    ok(thresholds.length >= 3, scenario);
    for (const [name, rules] of thresholds) {
      const [, metric, label] = /^(\w+)(?:\{scenario:(\w+)\})?$/.exec(name)!;
      ok(['checks', 'http_req_failed', 'http_req_duration', ...Object.keys(metrics)].includes(metric!), name);
      if (label !== undefined) ok(options.scenarios![label], `${name} in ${scenario}`);
      for (const rule of rules)
        match(typeof rule === 'string' ? rule : rule.threshold, /^(rate|p\(95\))(<|>|==)[\d.]+$/);
    }
    for (const part of Object.values(options.scenarios ?? {})) {
      strictEqual(part.executor, 'constant-vus');
      ok(Number(part.vus) > 0);
      for (const name of ['duration', 'startTime', 'gracefulStop']) match(String(part[name] ?? '1s'), DURATION);
    }
    for (const { duration } of options.stages ?? []) match(duration, DURATION);
  }
});

test('requests go to the deployment and paths of the environment, and what is not 2xx fails the check', async () => {
  const env = { BASE_URL: 'https://my-app.example/', PATHS: '/, /api/request', PAUSE: '0.5' };
  for (const scenario of ['smoke', 'load', 'spike', 'soak']) {
    const good = await run(scenario, GOOD, env);
    deepStrictEqual(
      good.requests.map(({ url }) => url),
      ['https://my-app.example/', 'https://my-app.example/api/request'],
    );
    deepStrictEqual([passedOf(good), good.sleeps, good.aborted], [[true], [0.5], undefined]);
    for (const status of [301, 404, 502])
      deepStrictEqual(passedOf(await run(scenario, { ...GOOD, status }, env)), [false]);
  }
});

test('the number of users and the time are the environment’s', async () => {
  const env = { VUS: '7', DURATION: '10m', RAMP: '1m' };
  const of = async (scenario: string) => (await run(scenario, GOOD, env)).options;
  deepStrictEqual((await of('smoke')).iterations, 21);
  deepStrictEqual((await of('load')).stages, [
    { duration: '1m', target: 7 },
    { duration: '10m', target: 7 },
    { duration: '1m', target: 0 },
  ]);
  const { before, spike, after } = (await of('spike')).scenarios!;
  deepStrictEqual([before!.vus, spike!.vus, after!.vus], [1, 7, 1]);
  deepStrictEqual([spike!.startTime, after!.startTime], ['10m', '10m10m10s']);
  strictEqual((await of('soak')).scenarios!.soak!.duration, '10m');
});

test('a deployment that does not answer ends the run before the load', async () => {
  for (const scenario of ['smoke', 'load', 'spike', 'soak', 'sse']) {
    match(String((await run(scenario, GONE)).aborted), /localhost:8080 does not answer .*refused.*BASE_URL/);
  }
});

test('a setting that means nothing is an error that names it', async () => {
  for (const [name, value] of [
    ['BASE_URL', 'localhost:8080'],
    ['PATHS', 'api'],
    ['VUS', 'many'],
    ['DURATION', '30'],
    ['WS_PATH', 'echo'],
  ] as const) {
    await rejects(run('websocket', GOOD, { [name]: value }), new RegExp(`${name} is '${value}'`));
  }
});

test('WebSockets exchange their messages one after another', async (t) => {
  const BASE_URL = await webSockets(t, (message) => message);
  const { metrics, checks } = await run('websocket', GOOD, { BASE_URL, MESSAGES: '5', MESSAGE_BYTES: '1000' });
  strictEqual(metrics.ws_echo!.length, 5);
  deepStrictEqual(metrics.ws_failed, [false]);
  deepStrictEqual(new Set(checks.map(({ passed }) => passed)), new Set([true]));
  strictEqual(checks.length, 5);
});

test('WebSockets that are refused, cut or answered wrongly are failures', async (t) => {
  const cut = await run('websocket', GOOD, { BASE_URL: await webSockets(t, () => undefined) });
  deepStrictEqual(cut.metrics.ws_failed, [true]);
  const refused = await run('websocket', GOOD, { BASE_URL: await webSockets(t, (message) => message), WS_PATH: '/no' });
  deepStrictEqual(refused.metrics.ws_failed, [true]);
  const wrong = await run('websocket', GOOD, { BASE_URL: await webSockets(t, () => Buffer.from('?')), MESSAGES: '1' });
  deepStrictEqual(passedOf(wrong), [false]);
});

test('an event stream is held until time runs out, or until it ends by itself', async () => {
  const held = await run('sse', { ...GONE, error_code: 1050, timings: { waiting: 12 } }, { SSE_HOLD: '3s' });
  deepStrictEqual([passedOf(held), held.metrics], [[true], { sse_open: [12], sse_failed: [false] }]);
  const { url, params } = held.requests.at(-1)!;
  strictEqual(url, 'http://localhost:8080/api/clock');
  strictEqual((params as { timeout: string }).timeout, '3s');
  const ended = await run('sse', { ...GOOD, headers: { 'Content-Type': 'text/event-stream; charset=utf-8' } });
  deepStrictEqual([passedOf(ended), ended.metrics.sse_failed], [[true], [false]]);
});

test('an event stream that never begins, another type and an error are failures', async () => {
  for (const answer of [{ ...GONE, error_code: 1050 }, GONE, GOOD, { ...GOOD, status: 502, headers: EVENTS }]) {
    const { metrics, ...rest } = await run('sse', answer);
    deepStrictEqual([passedOf(rest as Ran), metrics], [[false], { sse_open: [], sse_failed: [true] }]);
  }
});
