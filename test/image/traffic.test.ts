import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as nodeRequest } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { appFiles, type ImageContainer, startImage } from '../helpers/image.ts';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { withTimeout } from '../helpers/timeout.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const MB = 2 ** 20;
const command = ['node', 'node-http.js'];
const files = appFiles('node-http.js');

test('100 MB go down and up unchanged in a container of 256 MB', async (t) => {
  const container = await startImage(t, { files, command, memoryMb: 256 });
  strictEqual(await downloadedHash(container, '/bytes/104857600'), patternHash(100 * MB));
  strictEqual(await downloadedHash(container, '/bytes/104857600/chunked'), patternHash(100 * MB));
  deepStrictEqual(await upload(container, { 'Content-Length': 100 * MB }), {
    bytes: 100 * MB,
    sha256: patternHash(100 * MB),
  });
  deepStrictEqual(await upload(container, {}), { bytes: 100 * MB, sha256: patternHash(100 * MB) });
  const { State } = await container.inspect();
  deepStrictEqual({ running: State.Running, killed: State.OOMKilled }, { running: true, killed: false });
});

test('redirects what the router took by plain http, and serves what came by https', async (t) => {
  const container = await startImage(t, { files, command, env: { UWSRP_FORCE_SSL: 'on' } });
  const via = (proto: string) =>
    request(container.address, {
      path: '/status/200?a=%20',
      headers: { Host: 'www.example.com', 'X-Forwarded-Proto': proto },
    });
  const plain = await via('http');
  strictEqual(plain.status, 301);
  strictEqual(plain.headers.location, 'https://www.example.com/status/200?a=%20');
  strictEqual((await via('https')).status, 200);
});

test('answers the health path by itself, in any scheme', async (t) => {
  const env = { UWSRP_FORCE_SSL: 'on', UWSRP_HEALTH_PATH: '/up' };
  const container = await startImage(t, { files, command, env });
  strictEqual(
    (await request(container.address, { path: '/up', headers: { 'X-Forwarded-Proto': 'http' } })).status,
    200,
  );
});

test('WebSockets and HTTP share the port: the demo echoes', async (t) => {
  const container = await startImage(t, { image: 'uwsrp/demo' });
  strictEqual((await request(container.address)).status, 200);
  const socket = await openWebSocket(t, `${container.url.replace('http', 'ws')}/api/echo`);
  strictEqual((await socket.exchange('hello')).text, 'hello');
  strictEqual((await socket.exchange(Buffer.from([0, 255, 1]))).isBinary, true);
  await container.kill('SIGTERM');
  strictEqual((await withTimeout(socket.closed, 'the WebSocket to be closed')).code, 1001);
});

async function downloadedHash(container: ImageContainer, path: string): Promise<string> {
  const outgoing = nodeRequest(container.url + path, { agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  await withTimeout(pipeline(response, hash), `the body of ${path}`, 60_000);
  return hash.digest('hex');
}

async function upload(container: ImageContainer, headers: Record<string, number>): Promise<unknown> {
  const outgoing = nodeRequest(`${container.url}/hash`, { method: 'POST', headers, agent: false });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  await withTimeout(pipeline(Readable.from(patternOf(100 * MB)), outgoing), 'the upload', 60_000);
  const [response] = await withTimeout(answered, 'the answer to the upload', 60_000);
  return JSON.parse(Buffer.concat(await response.toArray()).toString());
}
