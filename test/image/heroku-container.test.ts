import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { buildFromRepository } from '../helpers/docker.ts';
import { request } from '../helpers/http.ts';
import { startImage } from '../helpers/image.ts';
import { appJson, herokuYml } from '../helpers/platform-files.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const PORT = '41873';
/** A dyno of the container stack: a random user without a home, and a random port. */
const dyno = { user: '23456:34567', env: { HOME: '', DYNO: 'web.1', PORT } };

test('heroku.yml builds and configures an app that serves, redirects and stops as a web dyno', async (t) => {
  const { build, setup } = herokuYml();
  const image = await buildFromRepository(t, build.docker.web!, dirname(build.docker.web!));
  const env = Object.fromEntries(Object.entries(appJson().env).map(([name, { value }]) => [name, value]));
  const container = await startImage(t, { ...dyno, image, env: { ...dyno.env, ...env, ...setup.config } });

  const via = (proto: string) =>
    request(container.address, { headers: { Host: 'my-app.herokuapp.com', 'X-Forwarded-Proto': proto } });
  strictEqual((await via('http')).headers.location, 'https://my-app.herokuapp.com/');
  const page = await via('https');
  strictEqual(page.status, 200);
  match(page.text, /<html/);
  const socket = await openWebSocket(t, `ws://127.0.0.1:${container.address.port}/api/echo`, {
    headers: { 'X-Forwarded-Proto': 'https' },
  });
  strictEqual((await socket.exchange('through the dyno')).text, 'through the dyno');
  await container.waitForLog({ platform: 'heroku', port: Number(PORT) });

  const ended = container.terminateAll();
  strictEqual((await socket.closed).code, 1001);
  // Node gives 143 for a second SIGTERM, which is ours, that meets it on its way out.
  ok([0, 143].includes(await ended), container.output());
});

test('CMD arrives as one string, in which $PORT is the private port and quotes mean what they mean to a shell', async (t) => {
  const app = {
    path: '/app/app.js',
    content: `
      const [, , port, words] = process.argv;
      const { HOME, PORT } = process.env;
      const answer = JSON.stringify({ port, words, HOME, PORT });
      require('node:http').createServer((_, response) => response.end(answer)).listen(port, '127.0.0.1');`,
  };
  const container = await startImage(t, { ...dyno, files: [app], command: [`node app.js $PORT 'two words'`] });
  const seen = JSON.parse((await request(container.address)).text) as Record<string, string>;
  deepStrictEqual(seen, { port: seen.PORT, words: 'two words', HOME: '/tmp', PORT: seen.PORT });
  match(seen.port!, /^\d+$/);
  notStrictEqual(seen.port, PORT);
});
