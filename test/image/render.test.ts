import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from '../helpers/http.ts';
import { type ImageContainer, spawnImage } from '../helpers/image.ts';
import { environmentOf, type RenderService, renderService } from '../helpers/platform-files.ts';
import { openWebSocket } from '../helpers/websocket.ts';

/** Render's default port, and its mark. */
const RENDER = { PORT: '10000', RENDER: 'true' };
const PROBE_MS = 5000;

/** An instance of a service, with what docker/setup built in the place of what Render builds or pulls. */
function startInstance(t: TestContext, service: RenderService): Promise<ImageContainer> {
  return spawnImage(t, { image: 'uwsrp/demo', env: { ...RENDER, ...environmentOf(service) } });
}

/** Render's health check: GET, 2xx or 3xx within 5 s; a failed one is repeated. */
async function healthy(instance: ImageContainer, service: RenderService): Promise<void> {
  for (;;) {
    if (await isHealthy(instance, service)) return;
    await delay(50);
  }
}

async function isHealthy({ address }: ImageContainer, { healthCheckPath: path }: RenderService): Promise<boolean> {
  const answer = await request(address, { path, timeoutMs: PROBE_MS }).catch(() => undefined);
  return answer !== undefined && answer.status >= 200 && answer.status < 400;
}

for (const [form, path] of [
  ['built from the Dockerfile', ['render.yaml']],
  ['of an image that was built elsewhere', ['docker', 'render-image.yaml']],
] as const) {
  test(`a deploy ${form} replaces the instance without losing a request`, async (t) => {
    const service = renderService(...path);
    const old = await startInstance(t, service);
    await healthy(old, service);
    await old.waitForLog({ platform: 'render', port: 10000 });

    let serving = old;
    let isOver = false;
    const statuses: number[] = [];
    const visitors = (async () => {
      while (!isOver) statuses.push((await request(serving.address, { path: '/api/request' })).status);
    })();
    const socket = await openWebSocket(t, `ws://127.0.0.1:${old.address.port}/api/echo`);
    strictEqual((await socket.exchange('before the deploy')).text, 'before the deploy');

    const next = await startInstance(t, service);
    await healthy(next, service);
    serving = next;
    // What was on its way to the old instance when the router changed over.
    const late = Promise.all([1, 2, 3].map(() => request(old.address, { path: '/api/request' })));
    const code = await Promise.all([late, old.stop()]).then(([answers, exitCode]) => {
      deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
      );
      return exitCode;
    });
    strictEqual(code, 0, old.output());
    strictEqual((await socket.closed).code, 1001);

    const served = statuses.length;
    while (statuses.length < served + 3) await delay(5);
    isOver = true;
    await visitors;
    deepStrictEqual(new Set(statuses), new Set([200]));
    strictEqual(await isHealthy(next, service), true);
  });
}
