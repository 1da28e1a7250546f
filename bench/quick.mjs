// Requests per CPU second of the proxy, small GETs over 64 connections, against nginx in the same run: alternating
// rounds, the proxy alone on one core, load and backend on the other. Usage: bench/quick [rounds] [seconds]
import { spawn } from 'node:child_process';
import { backendHttp, proxyHttp, startNginx } from './lib/nginx.mjs';
import { cpuMicros, median, pin } from './lib/processes.mjs';
import { needPrograms } from './lib/tools.mjs';
import { startUwsrp } from './lib/uwsrp.mjs';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 3);
const ports = { backend: 19100, nginx: 19200, uwsrp: 19300 };

needPrograms({ nginx: 'nginx-light', wrk: 'wrk', taskset: 'util-linux' });
const backend = await startNginx(backendHttp(ports.backend), ports.backend);
const nginx = await startNginx(proxyHttp(ports.nginx, ports.backend), ports.nginx);
const uwsrp = await startUwsrp(ports.uwsrp, { UWSRP_APP_PORT: String(ports.backend) });
const pids = { nginx: nginx.workerPid, uwsrp: uwsrp.pid };
pin(backend.workerPid, 0);
for (const pid of Object.values(pids)) pin(pid, 1);

const micros = { nginx: [], uwsrp: [] };
try {
  for (const name of ['nginx', 'uwsrp']) await load(ports[name], 1);
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of ['nginx', 'uwsrp']) {
      const before = cpuMicros(pids[name]);
      const requests = await load(ports[name], seconds);
      micros[name].push((cpuMicros(pids[name]) - before) / requests);
    }
    console.log(
      `round ${round}: nginx ${micros.nginx.at(-1).toFixed(2)}, uwsrp ${micros.uwsrp.at(-1).toFixed(2)} µs of CPU per request`,
    );
  }
} finally {
  await Promise.all([uwsrp.stop(), nginx.stop(), backend.stop()]);
}
const [ofNginx, ofUwsrp] = [median(micros.nginx), median(micros.uwsrp)];
console.log(`median: nginx ${ofNginx.toFixed(2)}, uwsrp ${ofUwsrp.toFixed(2)} µs of CPU per request`);
console.log(`uwsrp serves ${(ofNginx / ofUwsrp).toFixed(2)}x nginx's requests per CPU second`);

/** Runs wrk; resolves with the number of requests that were answered with 2xx. */
async function load(port, duration) {
  const wrk = spawn('taskset', ['-c', '0', 'wrk', '-t1', '-c64', `-d${duration}s`, `http://127.0.0.1:${port}/`]);
  let output = '';
  for await (const chunk of wrk.stdout) output += chunk;
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`failed requests:\n${output}`);
  return Number(/(\d+) requests in/.exec(output)[1]);
}
