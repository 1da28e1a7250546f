import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { aptOfThisHost, buildImage, debianImage } from '../helpers/docker.ts';
import { appFiles, runImage, startImage } from '../helpers/image.ts';

/** Loaded by NODE_OPTIONS into every Node that sees them; says which program that is. */
const mark = {
  path: '/app/mark.cjs',
  content: 'console.error("marked", process.argv[1], process.env.UWSRP_APP_NODE_OPTIONS)',
};
const env = { NODE_OPTIONS: '--require /app/mark.cjs' };

test('NODE_OPTIONS reaches the app alone', async (t) => {
  const container = await startImage(t, {
    env,
    files: [mark, ...appFiles('node-http.js')],
    command: ['node', 'node-http.js'],
  });
  deepStrictEqual(container.stderr.match(/^marked .*$/gm), ['marked /app/node-http.js undefined']);
});

test('NODE_OPTIONS reaches a one-off alone', async (t) => {
  const run = await runImage(t, {
    env: { ...env, UWSRP_MODE: 'off' },
    files: [mark],
    command: ['node', '--eval', '0'],
  });
  deepStrictEqual(run, { exitCode: 0, stdout: '', stderr: 'marked undefined undefined\n' });
});

test('an image without glibc is told so in one line', async (t) => {
  const tag = await buildImage(
    t,
    `FROM ${await debianImage()} AS busybox
     ${aptOfThisHost.line}
     RUN apt-get update && apt-get install -y --no-install-recommends busybox-static
     FROM scratch
     COPY --from=busybox /bin/busybox /bin/sh
     COPY --from=uwsrp/node /opt/uwsrp /opt/uwsrp
     ENTRYPOINT ["/opt/uwsrp/bin/tini", "-s", "--", "/opt/uwsrp/bin/uwsrp"]`,
    aptOfThisHost.files,
  );
  const run = await runImage(t, { image: tag, command: ['true'] });
  strictEqual(run.exitCode, 78);
  match(run.stderr, /no glibc .*Debian 13/);
  ok(!run.stderr.trim().includes('\n'), run.stderr);
});
