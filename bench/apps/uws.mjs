// The app behind the proxies for WebSockets, event streams and uploads.
import { fileURLToPath } from 'node:url';
import { freePort } from '../lib/ports.mjs';
import { startProgram } from '../lib/program.mjs';

const program = fileURLToPath(new URL('programs/uws.mjs', import.meta.url));

export async function startUwsApp() {
  const port = await freePort();
  const { pid, stop } = await startProgram(process.execPath, [program], { env: { PORT: String(port) }, opens: port });
  return { port, pids: [pid], stop };
}
