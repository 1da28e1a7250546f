import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadModule } from '../../../src/native/load-module.ts';
import type { NativeApp, NativeContext } from '../../../src/native/native-module.ts';
import { moduleFile } from '../../helpers/native.ts';

/** Begins to load a module that never settles; gives what is told meanwhile. */
function startLoading(t: TestContext, readyTimeoutMs: number) {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const warnings: string[] = [];
  const path = moduleFile(t, 'await new Promise(() => {});');
  const log = { warn: (text: string) => warnings.push(text) };
  const context = { config: { readyTimeoutMs }, log } as unknown as NativeContext;
  return { warnings, path, loading: loadModule(path, {} as NativeApp, context) };
}

test('says every 15 s what a module waits for, and gives up after the limit', async (t) => {
  const { warnings, path, loading } = startLoading(t, 40_000);
  const still = (time: string) =>
    `UWSRP_WS_MODULE: ${path} is still not loaded after ${time}: an await at the top level of the module or of one that it imports has not settled`;
  t.mock.timers.tick(39_999);
  assert.deepEqual(warnings, [still('15s'), still('30s')]);
  t.mock.timers.tick(1);
  await assert.rejects(loading, (error: Error) => error.message.startsWith(`${still('40s')} (UWSRP_READY_TIMEOUT): `));
  t.mock.timers.tick(60_000);
  assert.equal(warnings.length, 2);
});

test('gives a module all the time it takes where there is no limit', async (t) => {
  const { warnings, loading } = startLoading(t, 0);
  let isSettled = false;
  void loading.finally(() => {
    isSettled = true;
  });
  t.mock.timers.tick(86_400_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isSettled, false);
  assert.match(warnings.at(-1)!, /after 24h: /);
});
