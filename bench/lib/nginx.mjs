// One nginx, from a configuration of its own: as the app behind the proxies, and as a peer.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf } from './processes.mjs';
import { startProgram } from './program.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

/**
 * Starts nginx with what stands inside its `http` block and one worker, or several; resolves with `{ pids, stop }` once
 * `opens` accepts.
 */
export async function startNginx(http, { opens, cores, workers = 1 }) {
  const folder = temporaryFolder();
  const file = join(folder, 'nginx.conf');
  // Where root starts it, a worker must be root too: the folder of a unix socket may be closed to others.
  writeFileSync(
    file,
    `${process.getuid() === 0 ? 'user root; ' : ''}worker_processes ${workers}; daemon off; pid ${folder}/pid;
     error_log stderr crit; worker_rlimit_nofile 20000;
     events { worker_connections 19000; }
     http { access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on; ${temporaryPaths(folder)} ${http} }
     `,
  );
  const { pid, stop } = await startProgram('nginx', ['-c', file, '-p', folder, '-e', 'stderr'], { cores, opens });
  return { pids: [pid, ...(await workersOf(pid, workers))], stop };
}

/** The port is open before the workers are there. */
async function workersOf(pid, count) {
  for (let tries = 0; tries < 100; tries += 1) {
    const workers = childrenOf(pid);
    if (workers.length === count) return workers;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`nginx has not its ${count} workers`);
}

function temporaryPaths(folder) {
  return ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
}
