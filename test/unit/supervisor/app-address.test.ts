import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { chooseAppAddress } from '../../../src/supervisor/app-address.ts';

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const CONFIG = { appPort: undefined, appSocket: undefined, port: 8080, workDirectory: '/' };

/** A socket file that nobody answers on any more. */
async function createStaleSocket(path: string): Promise<void> {
  const server = createServer().listen(`${path}.live`);
  await once(server, 'listening');
  // Node removes the file by its name when it closes.
  renameSync(`${path}.live`, path);
  server.close();
  await once(server, 'close');
}

test('chooses a port that both families can listen on, and looks for the command on both', async () => {
  const { value, port, candidates, isOurChoice } = await chooseAppAddress(CONFIG);
  assert.equal(value, String(port));
  assert.ok(isOurChoice);
  assert.deepEqual(candidates, [
    { kind: 'tcp', host: '127.0.0.1', port },
    { kind: 'tcp', host: '::1', port },
  ]);
  for (const host of ['0.0.0.0', '::']) {
    const server = createServer().listen({ port: port!, host });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  }
});

test('takes the given port as it is', async () => {
  const { value, port, isOurChoice } = await chooseAppAddress({ ...CONFIG, appPort: 3000 });
  assert.deepEqual([value, port, isOurChoice], ['3000', 3000, false]);
});

test('gives the path of the socket as the port, from the work folder', async (t) => {
  const workDirectory = temporaryFolder(t);
  const path = join(workDirectory, 'app.sock');
  assert.deepEqual(await chooseAppAddress({ ...CONFIG, workDirectory, appSocket: 'app.sock' }), {
    value: path,
    port: undefined,
    candidates: [{ kind: 'unix', path }],
    isOurChoice: false,
  });
});

test('removes a stale socket, and leaves one that is answered on', async (t) => {
  const folder = temporaryFolder(t);
  const stale = join(folder, 'stale.sock');
  await createStaleSocket(stale);
  assert.ok(existsSync(stale));
  await chooseAppAddress({ ...CONFIG, appSocket: stale });
  assert.ok(!existsSync(stale));

  const live = join(folder, 'live.sock');
  const server = createServer().listen(live);
  t.after(() => server.close());
  await once(server, 'listening');
  await chooseAppAddress({ ...CONFIG, appSocket: live });
  assert.ok(existsSync(live));
});

test('refuses a path that is no socket or can be none', async (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, 'precious');
  await assert.rejects(chooseAppAddress({ ...CONFIG, appSocket: file }), {
    code: 'CONFIG_INVALID',
    message: `UWSRP_APP_SOCKET: ${file} exists and is not a socket: name another path`,
  });
  assert.ok(existsSync(file));
  await assert.rejects(chooseAppAddress({ ...CONFIG, appSocket: `/tmp/${'x'.repeat(103)}` }), {
    code: 'CONFIG_INVALID',
    message: /the path has 108 bytes, but a unix socket's may have 107/,
  });
});
