import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runSnippet, snippetsOf } from '../helpers/docs.ts';
import { request } from '../helpers/http.ts';
import { moduleFile } from '../helpers/native.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const [module, withCurl, withNode, withPython, withRuby, ...more] = snippetsOf('../README.md');

test("the README's module serves a room, and its snippets publish there", async (t) => {
  const path = moduleFile(t, module!.text, 'ws.mjs');
  const folder = dirname(path);
  const uwsrp = await startUwsrp(t, { args: ['node', 'apps/publish-env.js'], env: { UWSRP_WS_MODULE: path } });
  const { url, token } = JSON.parse((await request(uwsrp.port)).text) as { url: string; token: string };
  const variables = `export UWSRP_PUBLISH_URL='${url}' UWSRP_PUBLISH_TOKEN='${token}'\n`;
  const first = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/lobby`);
  const second = await openWebSocket(t, `ws://127.0.0.1:${uwsrp.port}/rooms/lobby`);

  const said = await first.exchange('said in the room');
  assert.deepEqual([said.text, said.isBinary], ['said in the room', false]);
  assert.equal((await second.nextMessage()).text, 'said in the room');

  await runSnippet(`${variables}${withCurl!.text}`, folder);
  assert.equal((await first.nextMessage()).text, 'hello from curl');

  writeFileSync(join(folder, 'publish.mjs'), withNode!.text);
  await runSnippet(`${variables}'${process.execPath}' publish.mjs`, folder);
  assert.equal((await first.nextMessage()).text, 'hello from Node');

  writeFileSync(join(folder, 'publish.py'), withPython!.text);
  await runSnippet(`${variables}python3 publish.py`, folder);
  assert.equal((await first.nextMessage()).text, 'hello from Python');
});

test('every snippet of the README is known to the tests', () => {
  const languages = [module, withCurl, withNode, withPython, withRuby].map((snippet) => snippet!.language);
  assert.deepEqual(languages, ['js', 'sh', 'js', 'python', 'ruby']);
  assert.deepEqual(more, []);
});
