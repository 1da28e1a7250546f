import { fileURLToPath } from 'node:url';
import { startContainer } from '../lib/docker.mjs';
import { childrenOf } from '../lib/processes.mjs';
import { startProgram } from '../lib/program.mjs';
import { productVersion } from '../lib/versions.mjs';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * The product as its users run it, in front of an app that is there already (the command is a `sleep`): the image, or
 * the built code with the Node at hand.
 */
export const uwsrp = {
  name: 'uwsrp',
  cannot: {},
  version: productVersion,
  async start({ port, app, cores, image, workers, module, settings }) {
    const env = {
      ...settings,
      PORT: String(port),
      // A sidecar's socket is waited for by path, a port by number.
      ...(app.socket ? { UWSRP_APP_SOCKET: app.socket } : { UWSRP_APP_PORT: String(app.port) }),
      ...(workers === undefined ? {} : { UWSRP_WORKERS: String(workers) }),
      ...(module ? { UWSRP_WS_MODULE: module } : {}),
    };
    const args = ['sleep', '3600'];
    if (image === undefined) {
      const { pid, stop } = await startProgram(process.execPath, [main, ...args], { env, cores, opens: port });
      return { pids: [pid], stop };
    }
    const mounts = [...(app.socket ? [app.folder] : []), ...(module ? [module] : [])];
    const { rootPid, stop } = await startContainer({ image, env, args, mounts, cores, opens: port });
    // tini and uwsrp; the command below them is the app's side.
    return { pids: [rootPid, ...childrenOf(rootPid)], stop };
  },
};
