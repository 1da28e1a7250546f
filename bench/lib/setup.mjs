// Everything a run needs, made by the run itself: Debian's programs, npm's packages, the built product or its image.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { docker } from './docker.mjs';
import { needPrograms } from './tools.mjs';
import { installedVersion } from './versions.mjs';

const bench = new URL('../', import.meta.url);
const root = new URL('../../', import.meta.url);
const DEFAULT_IMAGE = 'uwsrp/node';

/** Gives `{ image, builtImage, whyNoImage, runtime }`; `image` only where the image is what is measured. */
export function prepare({ target, image }) {
  needPrograms({ nginx: 'nginx-light', haproxy: 'haproxy', wrk: 'wrk', taskset: 'util-linux' });
  needModules(root);
  needModules(bench);
  if (target === 'image') {
    if (image === undefined) run('docker/setup', ['--image']);
    const measured = image ?? DEFAULT_IMAGE;
    return { image: measured, builtImage: measured, runtime: runtimeOfImage(measured) };
  }
  run('npm', ['run', '--silent', 'build']);
  const runtime = { target, node: process.versions.node, uws: uwsBuild(process.versions.modules) };
  return { runtime, ...imageAtHand() };
}

function needModules(folder) {
  const changed = (path) => statSync(new URL(path, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changed('node_modules/.package-lock.json') >= changed('package-lock.json')) return;
  run('npm', ['ci', '--ignore-scripts', '--silent'], folder);
}

function run(command, args, folder = root) {
  console.error(`bench: ${command} ${args.join(' ')}`);
  const { status, error } = spawnSync(command, args, {
    cwd: fileURLToPath(folder),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
}

function runtimeOfImage(image) {
  const script = 'process.versions.node + " " + process.versions.modules';
  const [node, modules] = docker('run', '--rm', '--entrypoint', '/opt/uwsrp/bin/node', image, '-p', script).split(' ');
  return { target: 'image', node, uws: uwsBuild(modules) };
}

const uwsBuild = (modules) => `${installedVersion('uWebSockets.js', root)} of npm's uwebsockets (ABI ${modules})`;

/** For its size alone, the image is looked at where it is there; a run without Docker is none the worse. */
function imageAtHand() {
  try {
    docker('image', 'inspect', DEFAULT_IMAGE);
    return { builtImage: DEFAULT_IMAGE };
  } catch {
    return { whyNoImage: `no image ${DEFAULT_IMAGE} here` };
  }
}
