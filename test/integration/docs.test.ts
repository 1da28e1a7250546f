import { match, strictEqual } from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort, snippetsIn, startSnippet } from '../helpers/docs.ts';
import { request } from '../helpers/http.ts';
import { inRepository, repositoryRoot } from '../helpers/repository.ts';

const [prepare, withNpx, withNode] = snippetsIn('node.md', 'sh');

/** An app beside a checkout, as the page says it: here the checkout lies where it lies. */
function appFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-docs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const server =
    'require("http").createServer((_, answer) => answer.end("from the app")).listen(process.env.PORT, "127.0.0.1")';
  writeFileSync(join(folder, 'server.js'), server);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  writeFileSync(join(folder, 'app.py'), readFileSync(inRepository('test', 'fixtures', 'apps', 'python_http.py')));
  return folder;
}

async function serve(t: TestContext, snippet: string): Promise<string> {
  const port = await freePort();
  const script = snippet.replaceAll('../uwsrp', repositoryRoot).replaceAll('8080', String(port));
  await startSnippet(t, script, appFolder(t), port);
  return (await request(port)).text;
}

test('without Docker: npx uwsrp serves an app of another folder', async (t) => {
  strictEqual(await serve(t, withNpx!), 'from the app');
});

test('without Docker: dist/main.js serves an app in another language', async (t) => {
  strictEqual(await serve(t, withNode!), 'hello from Python: /');
});

test('what prepares the checkout are its own scripts', () => {
  match(prepare!, /^npm ci --ignore-scripts\nnpm run build\n$/);
  const { scripts } = JSON.parse(readFileSync(inRepository('package.json'), 'utf8')) as { scripts: { build: string } };
  match(scripts.build, /^tsc /);
});
