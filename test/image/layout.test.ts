import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { docker, inspectImage } from '../helpers/docker.ts';
import { IMAGE, shellInImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

const manifest = JSON.parse(readFileSync(inRepository('package.json'), 'utf8')) as { version: string };
const asRoot = { user: '0' };

test('starts tini, our launcher and whatever command the user gives, as node in /app', async () => {
  const { Config } = (await inspectImage(IMAGE))!;
  deepStrictEqual(Config.Entrypoint, ['/opt/uwsrp/bin/tini', '-s', '--', '/opt/uwsrp/bin/uwsrp']);
  deepStrictEqual(Config.Cmd, ['uwsrp']);
  strictEqual(Config.User, 'node');
  strictEqual(Config.WorkingDir, '/app');
  deepStrictEqual(Config.Env, ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']);
});

test('exposes no port and checks no health, which are for the user to decide', async () => {
  const { Config } = (await inspectImage(IMAGE))!;
  strictEqual(Config.ExposedPorts, undefined);
  strictEqual(Config.Healthcheck, undefined);
});

test('is labelled with its name, version and licence, and tagged with the version', async () => {
  const { Config } = (await inspectImage(IMAGE))!;
  strictEqual(Config.Labels['org.opencontainers.image.title'], 'uwsrp/node');
  strictEqual(Config.Labels['org.opencontainers.image.version'], manifest.version);
  strictEqual(Config.Labels['org.opencontainers.image.licenses'], 'MIT');
  const { stdout } = await docker('image', 'ls', '--quiet', '--no-trunc', 'uwsrp/node');
  strictEqual(new Set(stdout.trim().split('\n')).size, 1, 'the three tags name one image');
  ok(await inspectImage(`uwsrp/node:${manifest.version}-node24`));
  ok(await inspectImage(`uwsrp/node:${manifest.version}`));
});

test('holds Node once, which node, npm and npx all run', async (t) => {
  const script = `
    find / -xdev -type f \\( -name node -o -name nodejs -o -size +40M \\) -perm /111
    readlink -f "$(command -v node)"
    node --print process.version
    npm --version
    npx --version
    npm config get prefix`;
  const lines = (await shellInImage(t, script, asRoot)).trim().split('\n');
  strictEqual(lines[0], '/opt/uwsrp/bin/node');
  strictEqual(lines[1], '/opt/uwsrp/bin/node', 'the only big program is Node, and it is what PATH finds');
  match(lines[2]!, /^v24\./);
  match(lines[3]!, /^\d+\.\d+\.\d+$/);
  strictEqual(lines[4], lines[3]);
  strictEqual(lines[5], '/usr/local', 'a global install stays out of /opt/uwsrp');
});

test('holds one addon, the one that its Node loads', async (t) => {
  const script = `
    find / -xdev -name '*.node'
    node -p 'process.arch + "_" + process.versions.modules'
    cd /opt/uwsrp/lib && node -e 'import("uWebSockets.js").then((uws) => console.log(typeof uws.default.App))'`;
  const [addon, platform, kind, ...rest] = (await shellInImage(t, script, asRoot)).trim().split('\n');
  strictEqual(addon, `/opt/uwsrp/lib/node_modules/uWebSockets.js/uws_linux_${platform}.node`);
  strictEqual(kind, 'function');
  deepStrictEqual(rest, []);
});

test('holds no compiler, no types, no test tool and no source', async (t) => {
  const modules = await shellInImage(t, 'ls /opt/uwsrp/lib /opt/uwsrp/lib/node_modules');
  for (const name of ['typescript', '@types', '@biomejs', 'testcontainers', 'src', 'tsconfig.json']) {
    ok(!modules.split('\n').includes(name), `${name} is in the image`);
  }
});

test('brings the licences of all that it hands on', async (t) => {
  const script =
    'cd /opt/uwsrp/licenses && ls && grep -l . * && head -c 300 node && head -c 900 tini && head -c 300 uWebSockets.js';
  const text = await shellInImage(t, script, { user: '12345' });
  deepStrictEqual(text.split('\n').slice(0, 4), ['node', 'tini', 'uWebSockets.js', 'uwsrp']);
  match(text, /Node\.js is licensed for use/);
  match(text, /Tini|tini/);
  match(text, /Apache License/);
});

test('is readable by any user and writable by none under /opt/uwsrp', async (t) => {
  const script =
    'find /opt/uwsrp ! -type l \\( ! -perm -444 -o -perm /022 -o ! -uid 0 \\); find /opt/uwsrp -type d ! -perm -111';
  strictEqual(await shellInImage(t, script, asRoot), '');
});

test('keeps owners and special bits of the base image', async (t) => {
  const script = 'stat -c "%a %U:%G %n" /etc/shadow /usr/bin/passwd /usr/bin/chage /tmp /app /home/node';
  deepStrictEqual((await shellInImage(t, script, asRoot)).trim().split('\n'), [
    '640 root:shadow /etc/shadow',
    '4755 root:root /usr/bin/passwd',
    '2755 root:shadow /usr/bin/chage',
    '1777 root:root /tmp',
    '755 node:node /app',
    '700 node:node /home/node',
  ]);
});

test('holds nothing of the host that built it', async (t) => {
  const script = `
    ls -d /local /root/.npm /home/node/.npm /var/lib/apt/lists/*_* /etc/apt/apt.conf.d/99* 2>/dev/null || true
    # ioredis brings the public certificate of a vendor with it.
    grep --recursive --binary-files=without-match --files-with-matches --exclude=TLSProfiles.js \
      '^-----BEGIN CERTIFICATE-----' \
      /app /etc /home /opt /root /tmp /usr /var || true
    cat /usr/local/lib/node_modules/npm/npmrc`;
  strictEqual(await shellInImage(t, script, asRoot), 'prefix=/usr/local\n');
  const history = await docker('image', 'history', '--no-trunc', '--format', '{{.CreatedBy}}', IMAGE);
  ok(!/RUN|\/local\/host/.test(history.stdout), `only COPY makes the image:\n${history.stdout}`);
});

test('is at most 30 MB bigger than its Node base image', async (t) => {
  const image = (await inspectImage(IMAGE))!;
  const base = (await inspectImage(image.Config.Labels['org.opencontainers.image.base.name']!))!;
  const added = image.Size - base.Size;
  t.diagnostic(`image ${megabytes(image.Size)}, base ${megabytes(base.Size)}, ours ${megabytes(added)}`);
  ok(added <= 30_000_000, `ours adds ${megabytes(added)}`);
});

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
