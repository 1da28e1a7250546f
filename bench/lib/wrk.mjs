// wrk as the load of plain requests: one thread, keep-alive, a fixed time.
import { spawn } from 'node:child_process';
import { onEnd } from './cleanup.mjs';

/** Runs wrk against a port; resolves with the number of answers. One that is not 2xx or 3xx, or takes longer than 2 s, fails it. */
export async function runWrk({ port, path = '/', connections, seconds, headers = [], script }) {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, ...headers.flatMap((header) => ['-H', header])];
  if (script !== undefined) args.push('-s', script);
  const wrk = spawn('wrk', [...args, `http://127.0.0.1:${port}${path}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = onEnd(() => void wrk.kill());
  let output = '';
  for await (const chunk of wrk.stdout) output += chunk;
  await stop();
  const answers = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0);
  const failed = output.match(/(?:Non-2xx|Socket errors).*/g) ?? (answers === 0 ? ['no answers'] : []);
  if (failed.length > 0) throw new Error(`${failed.join(', ')} of ${answers} requests\n${output}`);
  return answers;
}
