import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProgram } from '../lib/program.mjs';
import { temporaryFolder } from '../lib/temporary-folder.mjs';

/** Debian's haproxy with one thread, keep-alive to the app and the same forwarded fields. */
export const haproxy = {
  name: 'haproxy',
  cannot: { workers: 'one thread here' },
  version: () => /version (\d[\d.]*\d)/.exec(execFileSync('haproxy', ['-v'], { encoding: 'utf8' }))[1],
  async start({ port, app, cores }) {
    const file = join(temporaryFolder(), 'haproxy.cfg');
    writeFileSync(file, configuration(port, app));
    const { pid, stop } = await startProgram('haproxy', ['-db', '-f', file], { cores, opens: port });
    return { pids: [pid], stop };
  },
};

const configuration = (port, app) => `global
  nbthread 1
  maxconn 10200
  no strict-limits
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout tunnel 300s
  http-reuse always
  option forwardfor
frontend public
  bind 127.0.0.1:${port} backlog 4096
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Port %[dst_port]
  http-request set-header X-Request-Start t=%[date(0,ms)]
  use_backend events if { path /events }
  default_backend app
backend app
  ${server(app)}
backend events
  option http-no-delay
  ${server(app)}
`;

const server = ({ socket, port }) => `server app ${socket ?? `127.0.0.1:${port}`} maxconn 10100 pool-max-conn 1024`;
