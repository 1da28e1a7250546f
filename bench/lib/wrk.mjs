// wrk as the load of plain requests: one thread, keep-alive, a fixed time.
import { spawn } from 'node:child_process';
import { onEnd } from './cleanup.mjs';

/** Runs wrk against a port; resolves with the number of answers. An answer that is not 2xx or 3xx fails the run. */
export async function runWrk({ port, path = '/', connections, seconds, headers = [], script }) {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, ...headers.flatMap((header) => ['-H', header])];
  if (script !== undefined) args.push('-s', script);
  const wrk = spawn('wrk', [...args, `http://127.0.0.1:${port}${path}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = onEnd(() => void wrk.kill());
  let output = '';
  for await (const chunk of wrk.stdout) output += chunk;
  await stop();
  const answers = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0);
  if (/Non-2xx|Socket errors/.test(output) || answers === 0) throw new Error(`failed requests:\n${output}`);
  return answers;
}
