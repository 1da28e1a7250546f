import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildImage, debianImage } from '../helpers/docker.ts';
import { buildExample } from '../helpers/examples.ts';
import { request } from '../helpers/http.ts';
import { shellInImage, startImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

test('the example builds from its own Dockerfile: COPY and RUN npm ci work as the user node', async (t) => {
  const tag = await buildExample(t, 'express-websocket');
  const script = 'stat --format %U . server.js node_modules node_modules/express/package.json';
  deepStrictEqual(new Set((await shellInImage(t, script, { image: tag })).trim().split('\n')), new Set(['node']));

  const container = await startImage(t, { image: tag });
  match((await request(container.address)).text, /<html/);
  const { headers } = JSON.parse((await request(container.address, { path: '/api/request' })).text);
  const names = (headers as [string, string][]).map(([name]) => name.toLowerCase());
  for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'x-request-start'])
    strictEqual(names.includes(name), true);
  strictEqual(await container.stop(), 0);
});

test('the image builds where docker/setup has put no settings of the host, as on Render', async (t) => {
  const [copy] = /^COPY LICENSE .*$/m.exec(readFileSync(inRepository('docker', 'Dockerfile'), 'utf8'))!;
  const context = { LICENSE: 'the one source that is always there', 'docker/launcher': '' };
  const tag = await buildImage(t, `FROM ${await debianImage()}\n${copy}`, context);
  strictEqual(await shellInImage(t, 'find /local -type f', { image: tag }), '/local/LICENSE\n');
});
