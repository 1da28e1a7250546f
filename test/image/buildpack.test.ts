import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { after, test } from 'node:test';
import { tellBytecode } from '../helpers/bytecode.ts';
import { request } from '../helpers/http.ts';
import { type ImageOptions, runImage, shellInImage, startImage } from '../helpers/image.ts';
import { buildSlug, PYTHON_SOURCE, SLUG } from '../helpers/slugs.ts';
import { openWebSocket } from '../helpers/websocket.ts';

const image = await buildSlug({ after });

/** A dyno's user and environment: a random uid that owns nothing, HOME at the slug, a random port. */
const USER = 23456;
const web = { image, user: `${USER}:34567`, env: { HOME: SLUG, DYNO: 'web.1', PORT: '34251' } };
const worker = { ...web, env: { ...web.env, DYNO: 'worker.7' } };

/** The Python app is compiled on the spot, without a Node buildpack and from the cache of the other app's build. */
const python: ImageOptions = {
  ...web,
  user: '0',
  entrypoint: ['/bin/bash', '-euc'],
  command: [
    `rm -r ${SLUG} && cp -R ${PYTHON_SOURCE} /tmp/build_5678 && /buildpack/bin/compile /tmp/build_5678 /cache
     mv /tmp/build_5678 ${SLUG} && exec setpriv --reuid ${USER} --regid 34567 --clear-groups bash /dyno`,
  ],
};

test('an app is compiled with the usual output', async (t) => {
  const logs = await shellInImage(t, 'cd /logs; for log in *; do echo "[$log]"; cat "$log"; done', { image });
  const output = logs.replace(/(?<=uwsrp |Node )\d+\.\d+\.\d+/g, 'x.y.z').replace(/linux-\w+/, 'linux-x64');
  strictEqual(
    output,
    `[compile]
-----> uwsrp x.y.z
       Installing Node x.y.z for uwsrp itself (linux-x64)
       Installing its packages (npm ci)
       Compiling it (tsc)
       Making one file of it (esbuild)
       Done: uwsrp is on the PATH of every dyno
[detect]
uwsrp
[release]
--- {}
`,
  );
});

test('the slug gets one folder and one profile script, and one addon', async (t) => {
  const script = `
    cd ${SLUG}
    find . -maxdepth 2 \\( -name '.uwsrp*' -o -path './.uwsrp/*' -o -path './.profile.d/*' \\) -printf '%P %m\\n' | sort
    find .uwsrp -name '*.node' -o -name typescript -o -name '*esbuild*' -o -name '*.tgz' -o -path '*uWebSockets*' -name docs | sed 's/_[a-z0-9]*_[0-9]*.node/.node/'
    cat .profile.d/uwsrp.sh
    ls .uwsrp/licenses
    ls -p .uwsrp/lib
    grep -rl /tmp/build .uwsrp/bin/uwsrp .uwsrp/lib --include='*.?js' --include='*.js*' --exclude-dir=node_modules || echo 'no path of the build'`;
  deepStrictEqual((await shellInImage(t, script, { image })).trim().split('\n'), [
    '.profile.d/nodejs.sh 644',
    '.profile.d/uwsrp.sh 644',
    '.uwsrp 755',
    '.uwsrp/bin 755',
    '.uwsrp/lib 755',
    '.uwsrp/licenses 755',
    '.uwsrp/path 755',
    '.uwsrp/lib/node_modules/uWebSockets.js/uws_linux.node',
    'export PATH="$HOME/.uwsrp/path:$PATH"',
    'node',
    'uWebSockets.js',
    'uwsrp',
    'dist/',
    'node_modules/',
    'package.json',
    'start.cjs',
    'uwsrp.cache',
    'uwsrp.cjs',
    'no path of the build',
  ]);
});

test('a dyno starts from the bytecode, wherever the slug was built, and works without it', async (t) => {
  const script = `
    tell() { setpriv --reuid ${USER} --regid 34567 --clear-groups ${SLUG}/.uwsrp/bin/node --eval "$0"; }
    tell
    rm ${SLUG}/.uwsrp/lib/uwsrp.cache
    tell`;
  const run = await runImage(t, {
    image,
    user: '0',
    entrypoint: ['/bin/sh', '-ec'],
    command: [script, tellBytecode(`${SLUG}/.uwsrp/lib`)],
  });
  match(run.stdout, /^(\d+\.\d+\.\d+\n)false\n\1undefined\n$/, run.stderr);
  strictEqual(run.exitCode, 0);
});

test('workers, whose threads have their code from another file, serve on a dyno', async (t) => {
  const container = await startImage(t, { ...web, env: { ...web.env, UWSRP_WORKERS: '2' } });
  await container.waitForLog({ port: 34251, workers: 2 });
  const headers = { 'X-Forwarded-Proto': 'https' };
  strictEqual((await request(container.address, { path: '/api/request', headers })).status, 200);
});

test('without a network the cache serves, and without the cache nothing is left behind', async (t) => {
  const script = `
    mkdir /one /two /three
    echo 'web: python3 app.py' >/one/Procfile
    /buildpack/bin/compile /one /cache /config-vars
    [ -x /one/.uwsrp/path/uwsrp ] && [ -f /one/.profile.d/uwsrp.sh ]
    touch /three/.profile.d
    /buildpack/bin/compile /three /cache 2>&1 && exit 1
    find /three -mindepth 1
    echo broken >/cache/uwsrp/tree/lib/uwsrp.cjs
    /buildpack/bin/compile /two /cache 2>&1 && exit 1
    [ -z "$(ls -A /two)" ] && echo 'nothing is left'`;
  const output = await shellInImage(t, script, { image, isOffline: true }, 120_000);
  match(output, /Taken from the cache/);
  match(output, /It is not used yet.*\n +web: uwsrp python3 app\.py\n/, 'a hint at the line that does not use it');
  match(output, /\n ! {5}The build folder cannot be written: mkdir: .*\n\/three\/\.profile\.d\n/);
  match(output, /Could not resolve host.*\n ! {5}node-linux-\w+ [\d.]+ could not be downloaded from https:/);
  match(output, /nothing is left\n$/);
});

test('without a Procfile a start script is the default process, and nothing is when there is none', async (t) => {
  const script = `
    mkdir /a /b && ln -s ${SLUG}/.uwsrp /a && ln -s ${SLUG}/.uwsrp /b
    echo '{"scripts":{"start":"node ."}}' >/a/package.json
    for app in a b; do NODE_OPTIONS=--no-such-option /buildpack/bin/release /$app; done`;
  strictEqual(await shellInImage(t, script, { image }), '---\ndefault_process_types:\n  web: uwsrp\n--- {}\n');
});

test('Express on a dyno: HTTP and WebSocket, each Node with its own environment, a stop by SIGTERM to all', async (t) => {
  const mark = { path: '/tmp/mark.cjs', content: 'console.error("marked", process.execPath, process.env.PATH)' };
  const env = { ...web.env, NODE_OPTIONS: '--require /tmp/mark.cjs' };
  const container = await startImage(t, { ...web, env, files: [mark] });

  const answer = await request(container.address, { path: '/api/request', headers: { 'X-Forwarded-Proto': 'https' } });
  strictEqual(answer.status, 200);
  match(answer.text, /"x-forwarded-proto","https"/i);
  const socket = await openWebSocket(t, `ws://127.0.0.1:${container.address.port}/api/echo`);
  strictEqual((await socket.exchange('through the dyno')).text, 'through the dyno');

  deepStrictEqual(container.stderr.match(/^marked .*$/gm), [
    `marked /opt/node-of-the-app /app/.uwsrp/path:/app/.heroku/node/bin:${PATH}`,
  ]);
  const nodes = await container.exec('bash', '-c', 'readlink /proc/[0-9]*/exe | grep node | sort');
  strictEqual(nodes, '/app/.uwsrp/bin/node\n/opt/node-of-the-app\n');

  const ended = container.terminateAll();
  strictEqual((await socket.closed).code, 1001);
  // Node gives 143 for a second SIGTERM, which is ours, that meets it on its way out.
  ok([0, 143].includes(await ended), container.output());
});

test('Python on a dyno without any Node: HTTP and WebSocket, and a request in flight outlives SIGTERM to all', async (t) => {
  const container = await startImage(t, python);
  await container.waitForOutput('listening on port');
  match(container.stdout, /^-----> uwsrp [\d.]+\n {7}Taken from the cache of an earlier build\n {7}Done: .*\n\{/);
  strictEqual((await request(container.address, { path: '/a%20b?c' })).text, 'hello from Python: /a%20b?c');
  const socket = await openWebSocket(t, `ws://127.0.0.1:${container.address.port}/`);
  strictEqual((await socket.exchange('through the dyno')).text, 'through the dyno');
  const owners = await container.exec(
    'bash',
    '-c',
    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q 'ap[p].py' && grep ^Uid $p/status; done; true",
  );
  strictEqual(owners, `Uid:${`\t${USER}`.repeat(4)}\n`.repeat(2));

  const slow = request(container.address, { path: '/slow' });
  await container.waitForOutput('the request is here');
  const ended = container.terminateAll();
  strictEqual((await slow).text, 'hello from Python: /slow');
  strictEqual((await socket.closed).code, 1001);
  strictEqual(await ended, 0);
});

test('a worker dyno runs the command as it is, with neither a Node nor a variable of ours', async (t) => {
  const run = await runImage(t, worker);
  strictEqual(run.exitCode, 5);
  deepStrictEqual(run.stdout.split('\n'), [
    'PORT=34251 DYNO=worker.7',
    '/app/.heroku/node/bin/node',
    'NODE_ENV=production',
    'NODE_HOME=/app/.heroku/node',
    '',
  ]);
  const profile = { path: `${SLUG}/.profile.d/nodejs.sh`, content: '' };
  const withoutNode = await runImage(t, { ...worker, files: [profile] });
  strictEqual(withoutNode.stdout, 'PORT=34251 DYNO=worker.7\nno node\n');
});

test('a web line with a command that is not there ends with 127 and its name', async (t) => {
  const Procfile = { path: `${SLUG}/Procfile`, content: 'web: uwsrp no-such-server --port 1\n' };
  const run = await runImage(t, { ...web, files: [Procfile] });
  strictEqual(run.exitCode, 127);
  match(run.stdout + run.stderr, /no-such-server/);
  ok(!(run.stdout + run.stderr).includes('listening'));
});

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
