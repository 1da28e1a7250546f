import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { buildExample, exampleNames, redisImage } from '../helpers/examples.ts';
import { request } from '../helpers/http.ts';
import { type ImageContainer, spawnImage, startImage } from '../helpers/image.ts';
import { startNetwork } from '../helpers/network.ts';
import { readYaml } from '../helpers/platform-files.ts';
import { inRepository } from '../helpers/repository.ts';
import { connectSocketIo, heard, openSocketIo } from '../helpers/socket-io.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

/** A request that came through a platform's router, and what the app has to make of it. */
const ROUTED = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.7', 'X-Request-Id': 'from-the-test' };
const SEEN = { scheme: 'https', host: 'shop.example', client: '203.0.113.7', id: 'from-the-test' };
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

test('socket-io-express: two visitors talk, one by WebSocket and one by polling', async (t) => {
  const container = await startImage(t, { image: await buildExample(t, 'socket-io-express'), env });
  await shows(container, 'socket-io-express', /^Node 24\.\d+\.\d+, Express$/);
  match((await request(container.address, { path: '/socket.io/socket.io.js' })).text, /Socket\.IO v4/);

  const { port } = container.address;
  const one = await connectSocketIo(t, port, { transports: ['websocket'] });
  const bothAreHere = heard(one, 'people', (count) => count === 2);
  const two = await connectSocketIo(t, port, { transports: ['polling'] });
  await bothAreHere;
  const said = heard(one, 'said', () => true);
  two.emit('say', 'hello');
  deepStrictEqual(await said, { from: two.id!.slice(0, 4), text: 'hello' });
  const alone = heard(one, 'people', (count) => count === 1);
  two.disconnect();
  await alone;

  const gone = heard(one, 'disconnect', () => true);
  strictEqual(await container.stop(), 0, container.output());
  strictEqual(await gone, 'transport close');
});

test('fastify-websocket: the echo sends text and bytes back, and survives what is too large', async (t) => {
  const container = await startImage(t, { image: await buildExample(t, 'fastify-websocket'), env });
  await shows(container, 'fastify-websocket', /^Node 24\.\d+\.\d+, Fastify 5\./);

  const url = `ws://127.0.0.1:${container.address.port}/echo`;
  const greedy = await openWebSocket(t, url);
  greedy.send('x'.repeat(2 * 1024 * 1024));
  strictEqual((await greedy.closed).code, 1009);
  const socket = await openWebSocket(t, url);
  strictEqual((await socket.exchange('grüße 👋')).text, 'grüße 👋');
  const { data, isBinary } = await socket.exchange(Buffer.from([0, 254, 255]));
  deepStrictEqual([[...data], isBinary], [[0, 254, 255], true]);

  strictEqual(await container.stop(), 0, container.output());
  strictEqual((await socket.closed).code, 1001);
});

test('static-site: files come compressed and are asked for again with 304; nothing else is served', async (t) => {
  const container = await startImage(t, { image: await buildExample(t, 'static-site') });
  const get = (path: string, headers: Record<string, string> = {}) => request(container.address, { path, headers });
  const file = (name: string) => readFileSync(inRepository('examples', 'static-site', 'public', name), 'utf8');

  for (const [path, name, type] of [
    ['/', 'index.html', 'text/html;charset=utf-8'],
    ['/style.css', 'style.css', 'text/css'],
    ['/page.js', 'page.js', 'text/javascript'],
  ] as const) {
    strictEqual((await get(path)).text, file(name));
    const packed = await get(path, { 'Accept-Encoding': 'gzip, br' });
    strictEqual(packed.headers['content-encoding'], 'gzip');
    strictEqual(packed.headers['content-type'], type);
    strictEqual(gunzipSync(packed.body).toString(), file(name));
    const again = await get(path, { 'Accept-Encoding': 'gzip, br', 'If-None-Match': packed.headers.etag! });
    deepStrictEqual([again.status, again.body.length], [304, 0]);
  }
  for (const path of ['/nothing', '/server.js', '/../server.js', '/..%2fserver.js']) {
    const missing = await get(path);
    deepStrictEqual([missing.status, missing.text], [404, file('404.html')], path);
  }
  strictEqual(await container.stop(), 0, container.output());
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

interface ComposeFile {
  readonly services: {
    readonly web: {
      readonly build: string;
      readonly deploy: unknown;
      readonly ports: unknown;
      readonly environment: Record<string, string>;
      readonly depends_on: unknown;
    };
    readonly redis: { readonly image: string; readonly healthcheck: { readonly test: string[] } };
  };
}

test('compose-redis: visitors of two instances see one number, also when one instance has gone', async (t) => {
  const { web, redis } = (readYaml('examples', 'compose-redis', 'compose.yaml') as ComposeFile).services;
  deepStrictEqual(
    [web.build, web.deploy, web.ports, web.depends_on],
    ['.', { replicas: 2 }, ['8080-8081:8080'], { redis: { condition: 'service_healthy' } }],
  );
  const network = await startNetwork(t);
  const store = await spawnImage(t, { image: await redisImage(t, redis.image), network, alias: 'redis' });
  const image = await buildExample(t, 'compose-redis');
  await store.waitForOutput('Ready to accept connections');
  const [form, ...check] = redis.healthcheck.test;
  deepStrictEqual([form, await store.exec(...check)], ['CMD', 'PONG\n']);

  const start = () => startImage(t, { image, network, env: web.environment });
  const [first, second] = await Promise.all([start(), start()]);
  match((await request(first.address)).text, /<html/);
  const answer = await request(first.address, { path: '/request', headers: ROUTED });
  strictEqual(JSON.parse(answer.text).scheme, 'http', 'nobody in front is believed');

  const here = await connectSocketIo(t, first.address.port, { transports: ['websocket'] });
  const there = await connectSocketIo(t, second.address.port, { transports: ['websocket'] });
  const counted = (socket: typeof here, wanted: number) =>
    heard<{ count: number; by?: string }>(socket, 'count', ({ count, by }) => count === wanted && by !== undefined);
  const both = Promise.all([counted(here, 1), counted(there, 1)]);
  here.emit('add');
  const [seenHere, seenThere] = await both;
  deepStrictEqual(seenHere, seenThere);
  strictEqual(answer.text.includes(`instance ${seenHere.by}`), true, 'the first instance added');

  strictEqual(await first.stop(), 0, first.output());
  const last = counted(there, 2);
  there.emit('add');
  await last;
  const late = openSocketIo(t, second.address.port, { transports: ['websocket'] });
  deepStrictEqual(await heard(late, 'count', () => true), { count: 2 }, 'who comes later sees it, too');
  strictEqual(await second.stop(), 0, second.output());
});

test('chat: visitors of two instances are in one room, by Redis, and the app of each announces to all', async (t) => {
  const { redis } = (readYaml('examples', 'compose-redis', 'compose.yaml') as ComposeFile).services;
  const network = await startNetwork(t);
  const store = await spawnImage(t, { image: await redisImage(t, redis.image), network, alias: 'redis' });
  const image = await buildExample(t, 'chat');
  await store.waitForOutput('Ready to accept connections');
  const start = () => startImage(t, { image, network, env: { UWSRP_PUBSUB_URL: 'redis://redis:6379' } });
  const [first, second] = await Promise.all([start(), start()]);
  strictEqual(
    (await request(first.address)).text,
    readFileSync(inRepository('examples', 'chat', 'index.html'), 'utf8'),
  );

  const enter = ({ address }: ImageContainer) => openWebSocket(t, `ws://127.0.0.1:${address.port}/rooms/lobby`);
  const next = async (socket: TestWebSocket) => JSON.parse((await socket.nextMessage(10_000)).text);
  const announce = async ({ address }: ImageContainer, text: string) => {
    const headers = { 'Content-Type': 'application/json' };
    const options = { method: 'POST', path: '/rooms/lobby/announcements', headers, body: JSON.stringify({ text }) };
    strictEqual((await request(address, options)).status, 204);
  };
  const here = await enter(first);
  strictEqual((await next(here)).event, 'came');
  const there = await enter(second);
  const came = await next(here);
  deepStrictEqual([came.event, await next(there)], ['came', came]);

  there.send('hello');
  for (const socket of [here, there]) deepStrictEqual(await next(socket), { from: came.from, text: 'hello' });
  for (const [index, instance] of [first, second, first].entries()) {
    await announce(instance, `number ${index}`);
    for (const socket of [here, there]) deepStrictEqual(await next(socket), { announcement: `number ${index}` });
  }

  await store.stop();
  await first.waitForOutput('Redis is away');
  await announce(first, 'here only');
  deepStrictEqual(await next(here), { announcement: 'here only' });

  for (const instance of [first, second]) strictEqual(await instance.stop(), 0, instance.output());
  for (const socket of [here, there]) strictEqual((await socket.closed).code, 1001);
});
