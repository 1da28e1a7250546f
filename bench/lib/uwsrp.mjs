// The product as its users run it: the built code, in front of a backend that is there already.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { untilOpen } from './nginx.mjs';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Starts uwsrp on `port`; `env` names the app (UWSRP_APP_PORT or UWSRP_APP_SOCKET). */
export async function startUwsrp(port, env) {
  const child = spawn(process.execPath, [main, 'sleep', '3600'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PORT: String(port), ...env },
  });
  await untilOpen(port, child);
  return {
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
