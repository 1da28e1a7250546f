import { match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { appFiles, runImage, shellInImage, startImage } from '../helpers/image.ts';

const STRANGER = '23456:34567';

test('a random user that owns nothing serves the app, as on Heroku', async (t) => {
  const container = await startImage(t, {
    user: STRANGER,
    env: { HOME: '' },
    files: appFiles('node-http.js'),
    command: ['node', 'node-http.js'],
  });
  strictEqual((await request(container.address, { path: '/status/200' })).text, 'status 200');
  const ids = await container.exec('sh', '-c', 'cat /proc/[0-9]*/status | grep ^Uid | sort -u');
  match(ids, /^Uid:(\t23456){4}\n$/, 'every process is the user’s');
  strictEqual(await container.stop(), 0);
});

test('a random user has a home to write in, and npm finds a place for its cache', async (t) => {
  const run = await runImage(t, {
    user: STRANGER,
    env: { UWSRP_MODE: 'off' },
    command: [
      'sh',
      '-c',
      'id -u && touch "$HOME/here" && npm config get cache && cd "$HOME" && npm init --yes >init.log',
    ],
  });
  match(run.stdout, /^23456\n\/tmp\/\.npm\n/);
  strictEqual(run.stderr, '');
  strictEqual(run.exitCode, 0);
});

test('the user node keeps its home, and root too', async (t) => {
  const homeOf = async (user?: string) =>
    (await runImage(t, { ...(user && { user }), env: { UWSRP_MODE: 'off' }, command: ['sh', '-c', 'echo $HOME'] }))
      .stdout;
  strictEqual(await homeOf(), '/home/node\n');
  strictEqual(await homeOf('0'), '/root\n');
});

test('a read-only root file system serves the app, with a tmpfs for what it writes', async (t) => {
  const container = await startImage(t, {
    readOnlyRootfs: true,
    user: STRANGER,
    tmpfs: { '/tmp': 'rw,mode=1777' },
    env: { UWSRP_APP_SOCKET: '/tmp/app.sock' },
    command: ['node', '--eval', 'http.createServer((_, answer) => answer.end("hello")).listen(process.env.PORT)'],
  });
  strictEqual((await request(container.address)).text, 'hello');
  strictEqual((await container.inspect()).HostConfig.ReadonlyRootfs, true);
  strictEqual(await container.stop(), 143);
});

test('nothing of ours writes below /opt or /app', async (t) => {
  const script = `
    touch /tmp/before && sleep 0.01
    UWSRP_MODE=off /opt/uwsrp/bin/uwsrp true
    find /opt /app -newer /tmp/before`;
  strictEqual(await shellInImage(t, script, { user: '0' }), '');
});
