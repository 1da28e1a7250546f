import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { aptOfThisHost, buildImage, debianImage, docker } from '../helpers/docker.ts';
import { freePort, runSnippet, snippetsIn, startSnippet } from '../helpers/docs.ts';
import { request } from '../helpers/http.ts';
import { startImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

const [baseDockerfile] = snippetsIn('base-image.md', 'dockerfile');

const NODE_APP = {
  'package.json': '{"name":"my-app","version":"1.0.0"}',
  'package-lock.json':
    '{"name":"my-app","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"my-app","version":"1.0.0"}}}',
  'server.js':
    'require("http").createServer((_, answer) => answer.end("from my app")).listen(process.env.PORT, "127.0.0.1")',
};

test('base-image.md: the commands build and serve a Node app, and run another command in the image', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-docs-'));
  const tag = folder.split('/').at(-1)!.toLowerCase();
  t.after(() => docker('image', 'rm', '--force', '--no-prune', tag));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries({ ...NODE_APP, Dockerfile: baseDockerfile! })) {
    writeFileSync(join(folder, name), text);
  }
  const port = await freePort();
  const [serve, oneOff] = snippetsIn('base-image.md', 'sh').map((text) =>
    text.replaceAll('my-app', tag).replace('8080:8080', `${port}:8080`),
  );
  await startSnippet(t, serve!, folder, port);
  strictEqual((await request(port)).text, 'from my app');
  match(await runSnippet(oneOff!, folder), /^v24\./);
});

test('compose.md: the service answers, and its health check passes', async (t) => {
  const { services } = parse(snippetsIn('compose.md', 'yaml')[0]!) as {
    services: {
      web: { build: string; ports: string[]; environment: Record<string, string>; healthcheck: { test: string[] } };
    };
  };
  const { build, ports, environment, healthcheck } = services.web;
  deepStrictEqual([build, ports], ['.', ['8080:8080']]);
  const image = await buildImage(t, baseDockerfile!, NODE_APP);
  const container = await startImage(t, { image, env: environment });
  strictEqual((await request(container.address)).text, 'from my app');
  const [form, ...command] = healthcheck.test;
  strictEqual(form, 'CMD');
  strictEqual(await container.exec(...command), '');
});

test('other-languages.md: both Dockerfiles serve Python', async (t) => {
  const [whole, otherCommand] = snippetsIn('other-languages.md', 'dockerfile');
  const dockerfile = whole!.replace(/^FROM debian:trixie-slim$/m, `FROM ${await debianImage()}\n${aptOfThisHost.line}`);
  const image = await buildImage(t, dockerfile, {
    ...aptOfThisHost.files,
    'app.py': readFileSync(inRepository('test', 'fixtures', 'apps', 'python_http.py')),
  });
  const app = await startImage(t, { image });
  strictEqual((await request(app.address)).text, 'hello from Python: /');

  const [, words] = /^CMD (\[.*\])$/m.exec(otherCommand!)!;
  const listing = await startImage(t, { image, command: JSON.parse(words!) as string[] });
  ok((await request(listing.address)).text.includes('app.py'));
});
