import { fileURLToPath } from 'node:url';
import { runContainer } from '../lib/docker.mjs';
import { freePort, untilOpen } from '../lib/ports.mjs';
import { startProgram } from '../lib/program.mjs';
import { fetchWhole, getHead } from '../lib/raw-http.mjs';

const hello = fileURLToPath(new URL('../apps/programs/hello.mjs', import.meta.url));
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const LOOK_EVERY_MS = 1;

/** From the start of the container (or process) to the first answer of a small Node app, with us and without. */
export const boot = {
  name: 'boot',
  title: 'boot of a small Node app',
  onlyUwsrp: 'starts no app',
  metrics: [
    { key: 'added', label: 'ms that we add to it' },
    { key: 'with', label: 'ms to the first answer' },
    { key: 'without', label: 'ms without us' },
  ],
  async round(_proxy, { image, allCores }) {
    const start = image === undefined ? startOnHost : startInContainer;
    const without = await firstAnswerMs((port) => start({ port, image, isBare: true, allCores }));
    const withUs = await firstAnswerMs((port) => start({ port, image, isBare: false, allCores }));
    return { added: withUs - without, with: withUs, without };
  },
};

async function firstAnswerMs(start) {
  const port = await freePort();
  const begin = performance.now();
  const { stop } = await start(port);
  try {
    await fetchWhole(port, { head: getHead('/') });
    return performance.now() - begin;
  } finally {
    await stop();
  }
}

function startOnHost({ port, isBare, allCores }) {
  const args = isBare ? [hello] : [main, process.execPath, hello];
  return startProgram(process.execPath, args, {
    env: { PORT: String(port) },
    cores: allCores,
    opens: port,
    lookEveryMs: LOOK_EVERY_MS,
  });
}

async function startInContainer({ port, image, isBare }) {
  const container = runContainer({
    image,
    env: { PORT: String(port) },
    mounts: [hello],
    ...(isBare ? { entrypoint: '/opt/uwsrp/bin/node', args: [hello] } : { args: ['node', hello] }),
  });
  await untilOpen(port, { check: () => {}, withinMs: 30_000, everyMs: LOOK_EVERY_MS });
  return container;
}
