import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runSnippet, snippetsOf } from '../helpers/docs.ts';
import { request } from '../helpers/http.ts';
import { moduleFile, startNative } from '../helpers/native.ts';
import { startPublishing } from '../helpers/publish.ts';
import { connectSocketIo } from '../helpers/socket-io.ts';
import { hasNewerBuild } from '../helpers/target.ts';
import { spawnUwsrp, startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const snippets = snippetsOf('../README.md');
const [module, inTypeScript, withLogin, withCurl, withNode, withPython, withRuby, manyWithCurl] = snippets.map(
  ({ text }) => text,
);

/** uwsrp with the README's module, and what its snippets need to publish there. */
async function startRooms(t: TestContext) {
  const path = moduleFile(t, module!, 'ws.mjs');
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/publish-env.js'], env: { UWSRP_WS_MODULE: path } });
  const { url, token } = JSON.parse((await request(uwsrp.port)).text) as { url: string; token: string };
  const folder = dirname(path);
  return {
    enter: (room: string) => openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/${room}`),
    /** Runs a shell snippet, or what this command line starts with the text as its file, as the command would. */
    publish(text: string, commandLine = text, ownToken = token) {
      const variables = `export UWSRP_PUBLISH_URL='${url}' UWSRP_PUBLISH_TOKEN='${ownToken}'\n`;
      if (commandLine !== text) writeFileSync(join(folder, commandLine.split(' ').at(-1)!), text);
      return runSnippet(`${variables}${commandLine}`, folder);
    },
  };
}

const NODE = `'${process.execPath}' publish.mjs`;
const PYTHON = 'python3 publish.py';

test("the README's module serves a room, and its snippets publish there", async (t) => {
  const { enter, publish } = await startRooms(t);
  const first = await enter('lobby');
  const second = await enter('lobby');

  const said = await first.exchange('said in the room');
  assert.deepEqual([said.text, said.isBinary], ['said in the room', false]);
  assert.equal((await second.nextMessage()).text, 'said in the room');

  await publish(withCurl!);
  assert.equal((await first.nextMessage()).text, 'hello from curl');
  await publish(withNode!, NODE);
  assert.equal((await first.nextMessage()).text, 'hello from Node');
  await publish(withPython!, PYTHON);
  assert.equal((await first.nextMessage()).text, 'hello from Python');
  await publish(manyWithCurl!);
  assert.equal((await first.nextMessage()).text, 'first');
  assert.equal((await first.nextMessage()).text, 'second');
});

test("the README's module in TypeScript is served where Node strips types, and refused by Node 20", async (t) => {
  const uwsrp = spawnUwsrp(t, {
    args: ['node', 'apps/node-http.js'],
    env: { UWSRP_WS_MODULE: moduleFile(t, inTypeScript!, 'ws.ts') },
  });
  if (!hasNewerBuild) {
    assert.deepEqual(await uwsrp.exited, { code: 78, signal: null });
    assert.match(uwsrp.stdout, /Unknown file extension/);
    return;
  }
  await uwsrp.ready;
  const reader = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/news`);
  assert.equal((await reader.exchange('typed')).text, 'typed');
});

test("the README's snippets reach a room of any name, as the module reads it from the path", async (t) => {
  const { enter, publish } = await startRooms(t);
  const room = 'café & 100 %';
  const visitor = await enter(encodeURIComponent(room));
  await publish(withCurl!.replace('rooms%2Flobby', encodeURIComponent(`rooms/${room}`)));
  assert.equal((await visitor.nextMessage()).text, 'hello from curl');
  await publish(withNode!.replace('lobby', room), NODE);
  assert.equal((await visitor.nextMessage()).text, 'hello from Node');
  await publish(withPython!.replace('lobby', room), PYTHON);
  assert.equal((await visitor.nextMessage()).text, 'hello from Python');
  await publish(manyWithCurl!.replaceAll('lobby', room));
  assert.equal((await visitor.nextMessage()).text, 'first');
  await assert.rejects(enter('100%'), /400/);
});

test("the README's snippets fail when nothing is published", async (t) => {
  const { publish } = await startRooms(t);
  for (const text of [withCurl!, manyWithCurl!]) await assert.rejects(publish(text, text, 'another'), /401/);
  await assert.rejects(publish(withNode!, NODE, 'another'), /not published: 401/);
  await assert.rejects(publish(withPython!, PYTHON, 'another'), /401/);
});

/** Who sends no cookie is nobody; who waits for an answer waits until it is asked for. */
const SESSIONS = `
export async function findUser(cookie) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return /^user=\\d+$/.test(cookie) ? { id: cookie.slice(5) } : undefined;
}`;

test("the README's login lets in who has a session and comes from the own page", async (t) => {
  const path = moduleFile(t, withLogin!, 'ws.mjs');
  writeFileSync(join(dirname(path), 'sessions.mjs'), SESSIONS);
  const { uwsrp, publish } = await startPublishing(t, { UWSRP_WS_MODULE: path });
  const open = (headers: Record<string, string>) =>
    openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/private`, { headers });
  const origin = 'https://chat.example.com';
  await assert.rejects(open({ cookie: 'user=7' }), /403/);
  await assert.rejects(open({ cookie: 'user=7', origin: 'https://evil.example' }), /403/);
  await assert.rejects(open({ origin }), /401/);
  const gone = connect(uwsrp.port, '127.0.0.1', () => {
    const head = `Host: a\r\nOrigin: ${origin}\r\nCookie: user=7\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`;
    const handshake = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    gone.write(`GET /private HTTP/1.1\r\n${head}${handshake}`, () => gone.destroy());
  });
  await once(gone, 'close');
  const user = await open({ cookie: 'user=7', origin });
  await publish('for you alone', { query: '?topic=users%2F7' });
  assert.equal((await user.nextMessage()).text, 'for you alone');
  assert.deepEqual(await uwsrp.stop(), { code: 0, signal: null });
  assert.doesNotMatch(uwsrp.stdout, /"level":"(warn|error)".*WS_MODULE/);
});

test("an app's Socket.IO and native routes share the port", async (t) => {
  const env = { UWSRP_WS_MODULE: moduleFile(t, module!, 'ws.mjs') };
  const { port } = await startUwsrp(t, { args: ['node', 'apps/socket-io.js'], env });
  const native = await openWebSocket(t, `ws://127.0.0.1:${port}/rooms/lobby`);
  const ofApp = await connectSocketIo(t, port, { transports: ['websocket'] });
  assert.equal(await ofApp.timeout(5000).emitWithAck('echo', 'by the app'), 'by the app');
  assert.equal((await native.exchange('by the module')).text, 'by the module');
});

test('a job without the proxy has nothing to publish with', async (t) => {
  const env = { UWSRP_MODE: 'off', UWSRP_WS_MODULE: moduleFile(t, module!, 'ws.mjs') };
  const uwsrp = spawnUwsrp(t, { args: ['env'], env });
  assert.equal((await uwsrp.exited).code, 0);
  assert.match(uwsrp.stdout, /^UWSRP_MODE=off$|^PATH=/m);
  assert.doesNotMatch(uwsrp.stdout, /UWSRP_PUBLISH/);
});

test('a native WebSocket is one open file, a relayed one two', async (t) => {
  const { uwsrp, url } = await startNative(t, "app.ws('/native', {});");
  const count = 20;
  for (const [path, files] of [
    ['/native', 1],
    ['/relayed', 2],
  ] as const) {
    await openWebSocket(t, url(path));
    const before = uwsrp.openFiles();
    for (let index = 0; index < count; index += 1) await openWebSocket(t, url(path));
    assert.equal(uwsrp.openFiles() - before, count * files, path);
  }
});

test('every snippet of the README is known to the tests', () => {
  const languages = snippets.map(({ language }) => language);
  assert.deepEqual(languages, ['js', 'ts', 'js', 'sh', 'js', 'python', 'ruby', 'sh']);
  for (const text of [withNode, withPython, withRuby]) assert.match(text!, /5000|timeout=5|timeout: 5/);
});
