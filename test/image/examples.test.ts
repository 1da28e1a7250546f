import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildExample, exampleNames } from '../helpers/examples.ts';
import { request } from '../helpers/http.ts';
import { type ImageContainer, startImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

/** A request that came through a platform's router, and what the app has to make of it. */
const ROUTED = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.7', 'X-Request-Id': 'from-the-test' };
const SEEN = { scheme: 'https', host: 'shop.example', client: '203.0.113.7', requestId: 'from-the-test' };
/** Routers of platforms have added the client's address already. */
const env = { UWSRP_FORWARDED_FOR: 'keep' };

/** The page and what it shows: all examples with a server of their own have these two. */
async function shows(container: ImageContainer, example: string, server: RegExp): Promise<void> {
  const page = await request(container.address);
  strictEqual(page.status, 200);
  strictEqual(page.headers['content-type'], 'text/html; charset=utf-8');
  strictEqual(page.text, readFileSync(inRepository('examples', example, 'index.html'), 'utf8'));
  const headers = { ...ROUTED, Host: 'shop.example' };
  const answer = await request(container.address, { path: '/request', headers });
  const { server: named, ...seen } = JSON.parse(answer.text) as Record<string, string>;
  deepStrictEqual(seen, SEEN);
  match(named!, server);
  strictEqual((await request(container.address, { path: '/nothing' })).status, 404);
}

test('README.md names every example, and each tells how to run it', () => {
  const readme = readFileSync(inRepository('README.md'), 'utf8');
  deepStrictEqual(
    [...readme.matchAll(/^\| \[([\w-]+)\]\(examples\/\1\) \|/gm)].map(([, name]) => name).sort(),
    exampleNames(),
  );
  for (const name of exampleNames()) {
    const text = readFileSync(inRepository('examples', name, 'README.md'), 'utf8');
    match(text, new RegExp(`^npm run image\\n.* examples/${name}(/compose.yaml .*)?$`, 'm'), name);
  }
});

for (const [example, server] of [
  ['python-gunicorn', /^Python 3\.\d+\.\d+, gunicorn \d/],
  ['python-standard-library', /^Python 3\.\d+\.\d+, http\.server$/],
  ['ruby-puma', /^Ruby 3\.\d+\.\d+, Puma \d/],
] as const) {
  test(`${example}: its Dockerfile builds an app that serves, knows the client and stops`, async (t) => {
    const container = await startImage(t, { image: await buildExample(t, example), env });
    await shows(container, example, server);
    strictEqual((await request(container.address, { method: 'HEAD' })).body.length, 0);
    strictEqual(await container.stop(), 0, container.output());
  });
}
