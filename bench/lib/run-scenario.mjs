// One scenario: app and proxies are started, rounds go through the proxies in turn, all is stopped.
import { settledBytes } from './memory.mjs';
import { freePort } from './ports.mjs';
import { anonymousBytes } from './processes.mjs';
import { fetchWhole, getHead } from './raw-http.mjs';

const HELLO = 'hello, world\n'; // what each app answers on /
const FIRST_REQUESTS = 20;
const WARM_UP_SECONDS = 1;
const ROUND_SLACK_MS = 60_000;

/** Without them there is nothing to compare: where one fails, the scenario does. */
const ESSENTIAL = ['uwsrp', 'nginx'];

/**
 * Resolves with `{ name, title, metrics, peers }`: for each peer either the values of each metric, one for a round, or
 * `{ cannot }` with the reason. A peer that fails has that as its reason, whatever it did before, and the others go on.
 */
export async function runScenario(scenario, peers, run) {
  const rounds = Math.min(run.rounds, scenario.mostRounds ?? run.rounds);
  const outcome = { name: scenario.name, title: scenario.title, metrics: scenario.metrics, peers: {} };
  const able = [];
  for (const peer of peers) {
    const cannot = reasonAgainst(peer, scenario, run);
    if (cannot === undefined) able.push(peer);
    outcome.peers[peer.name] = cannot === undefined ? { values: {} } : { cannot };
  }
  const stage = await setStage(scenario, able, run);
  const onFailure = async (name, error) => {
    if (ESSENTIAL.includes(name)) throw error;
    outcome.peers[name] = { cannot: `failed: ${(error.cause ?? error).message.split('\n', 1)[0]}` };
    run.onFailure?.({ scenario, error });
    await stage.drop(name);
  };
  try {
    if (!scenario.isFresh) await eachProxy(stage, scenario, { ...run, seconds: WARM_UP_SECONDS }, onFailure);
    for (let round = 1; round <= rounds; round += 1) {
      if (scenario.isFresh && round > 1) await stage.restart();
      const measured = await eachProxy(stage, scenario, run, onFailure);
      for (const [name, measures] of measured) {
        const { values } = outcome.peers[name];
        for (const [key, value] of Object.entries(measures)) values[key] = [...(values[key] ?? []), value];
      }
      run.onRound?.({ scenario, round, rounds, measured });
    }
  } finally {
    await stage.clear();
  }
  return outcome;
}

function reasonAgainst(peer, scenario, run) {
  if (scenario.onlyUwsrp !== undefined && peer.name !== 'uwsrp') return scenario.onlyUwsrp;
  if (scenario.needsImage && run.builtImage === undefined) return run.whyNoImage;
  return peer.cannot[scenario.needs] ?? peer.cannot[scenario.name];
}

async function eachProxy(stage, scenario, run, onFailure) {
  const measured = [];
  for (const proxy of [...stage.proxies()]) {
    const limit = run.seconds * 1000 + ROUND_SLACK_MS;
    try {
      measured.push([proxy.name, await named(proxy.name, within(limit, scenario.round(proxy, run)))]);
    } catch (error) {
      await onFailure(proxy.name, error);
    }
  }
  return measured;
}

/** Starts the app and each able peer in front of it. */
async function setStage(scenario, peers, run) {
  const app = await scenario.startApp?.();
  let able = peers;
  let proxies = [];
  const clear = async () => {
    await Promise.all(proxies.map(({ stop }) => stop?.()));
    proxies = [];
  };
  const start = async () => {
    for (const peer of able) proxies.push(await named(peer.name, startPeer(peer, app, scenario, run)));
  };
  await start();
  return {
    proxies: () => proxies,
    async restart() {
      await clear();
      await start();
    },
    async drop(name) {
      able = able.filter((peer) => peer.name !== name);
      const dropped = proxies.find((proxy) => proxy.name === name);
      proxies = proxies.filter((proxy) => proxy !== dropped);
      await dropped.stop?.();
    },
    async clear() {
      await clear();
      await app?.stop();
    },
  };
}

async function startPeer(peer, app, scenario, run) {
  if (app === undefined) return { name: peer.name };
  const port = await freePort();
  const place = scenario.needs === 'unix socket' ? { socket: app.socket, folder: app.folder } : { port: app.port };
  const { image, proxyCores: cores } = run;
  const started = await peer.start({
    port,
    app: place,
    cores,
    image,
    workers: scenario.workers,
    module: scenario.uwsrpModule,
    settings: scenario.uwsrpSettings,
  });
  const pids = scenario.withApp ? [...started.pids, ...app.pids] : started.pids;
  for (let count = 0; count < FIRST_REQUESTS; count += 1) {
    const bytes = await fetchWhole(port, { head: getHead('/') });
    if (bytes !== HELLO.length) throw new Error(`${bytes} bytes in place of the app's ${HELLO.length}`);
  }
  const idleBytes = await settledBytes(pids);
  const idleAnonymousBytes = anonymousBytes(pids);
  return { name: peer.name, port, pids, stop: started.stop, app, idleBytes, idleAnonymousBytes };
}

/** A failure says whose it was. */
function named(name, promise) {
  return promise.catch((error) => {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  });
}

async function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
