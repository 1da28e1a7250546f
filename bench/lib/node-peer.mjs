// Peers written for Node run on the same Node as uwsrp: the one at hand, or the image's, in a container of it.
import { fileURLToPath } from 'node:url';
import { startContainer } from './docker.mjs';
import { startProgram } from './program.mjs';

const bench = fileURLToPath(new URL('..', import.meta.url));
const UWS_ON_HOST = fileURLToPath(new URL('../../node_modules/uWebSockets.js/uws.js', import.meta.url));
const UWS_IN_IMAGE = '/opt/uwsrp/lib/node_modules/uWebSockets.js/uws.js';

/** Starts `peers/programs/<program>.mjs` with PORT, APP_PORT or APP_SOCKET, and UWS (the path of uWebSockets.js). */
export async function startNodePeer(program, { port, app, cores, image }) {
  const file = `${bench}peers/programs/${program}.mjs`;
  const env = {
    PORT: String(port),
    ...(app.socket ? { APP_SOCKET: app.socket } : { APP_PORT: String(app.port) }),
    UWS: image === undefined ? UWS_ON_HOST : UWS_IN_IMAGE,
    NODE_ENV: 'production',
  };
  if (image === undefined) {
    const { pid, stop } = await startProgram(process.execPath, [file], { env, cores, opens: port });
    return { pids: [pid], stop };
  }
  const mounts = [bench.replace(/\/$/, ''), ...(app.socket ? [app.folder] : [])];
  const entrypoint = '/opt/uwsrp/bin/node';
  const { pids, stop } = await startContainer({ image, entrypoint, args: [file], env, mounts, cores, opens: port });
  return { pids, stop };
}
