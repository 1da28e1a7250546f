// nginx as the backend and as the peer: one worker each, on a loopback port, from a configuration of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Starts nginx with what stands inside its `http` block; resolves with `{ workerPid, stop }` once `port` answers. */
export async function startNginx(http, port) {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-bench-'));
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `worker_processes 1; daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
     events { worker_connections 20000; }
     http { access_log off; keepalive_requests 100000000; ${http} }`,
  );
  const master = spawn('nginx', ['-c', file, '-p', folder], { stdio: ['ignore', 'inherit', 'inherit'] });
  await untilOpen(port, master);
  const workerPid = Number(
    readFileSync(`/proc/${master.pid}/task/${master.pid}/children`, 'utf8').trim().split(' ')[0],
  );
  return {
    workerPid,
    async stop() {
      master.kill('SIGTERM');
      if (master.exitCode === null) await once(master, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A backend that answers every path with the same few bytes. */
export const backendHttp = (port) =>
  `server { listen 127.0.0.1:${port}; location / { default_type text/plain; return 200 "hello, world\\n"; } }`;

/** The proxy that uwsrp is measured against: keep-alive to the app, and the same forwarded headers. */
export const proxyHttp = (port, backendPort) => `
  upstream app { server 127.0.0.1:${backendPort}; keepalive 1024; keepalive_requests 100000000; }
  server { listen 127.0.0.1:${port}; location / {
    proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port;
    proxy_set_header X-Request-Start "t=$msec"; } }`;

export async function untilOpen(port, child) {
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`${child.spawnfile} ended with ${child.exitCode} before port ${port} was open`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    );
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
