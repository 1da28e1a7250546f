import { match, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { appFiles, startImage } from '../helpers/image.ts';

const slow = { files: appFiles('slow-answer.js'), command: ['node', 'slow-answer.js'] };

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets the request in flight finish, ends the app by SIGTERM and gives its code`, async (t) => {
    const container = await startImage(t, slow);
    const answer = request(container.address, { path: '/in-flight' });
    await container.waitForOutput('the request is here: /in-flight');
    const code = await container.stop(signal);
    strictEqual((await answer).text, 'the whole answer');
    strictEqual(code, 0);
    match(container.stdout, new RegExp(`"signal":"${signal}"`));
  });
}

test('an app without a handler gives 143, and one that ignores SIGTERM is killed in time', async (t) => {
  const listen = 'require("http").createServer((_, answer) => answer.end()).listen(process.env.PORT, "127.0.0.1")';
  const plain = await startImage(t, { command: ['node', '--eval', listen] });
  strictEqual(await plain.stop(), 143);

  const deaf = await startImage(t, {
    env: { UWSRP_SHUTDOWN_TIMEOUT: '2s' },
    command: ['node', '--eval', `process.on("SIGTERM", () => {}); ${listen}`],
  });
  strictEqual(await deaf.stop(), 137);
});

test('the code of an app that ends by itself is the container’s', async (t) => {
  const container = await startImage(t, { files: appFiles('node-http.js'), command: ['node', 'node-http.js'] });
  await request(container.address, { path: '/exit/9' }).catch(() => undefined);
  strictEqual(await container.exitCode(), 9);
});

test('tini reaps what the app leaves behind', async (t) => {
  const container = await startImage(t, {
    files: appFiles('node-http.js'),
    // The inner shell ends at once, and its child becomes tini's; that ends, and nobody but tini waits for it.
    command: ['sh', '-c', '(sh -c "exit 0" &); (sleep 0.1 &); exec node node-http.js'],
  });
  // `sed` and not `grep`: no match is no failure.
  const zombies = await container.exec('sh', '-c', 'cat /proc/[0-9]*/stat | sed -n "/) Z /p"');
  strictEqual(zombies, '');
  ok((await request(container.address, { path: '/status/200' })).status === 200);
});
