// A supervisor and its signals as a process of their own, without a proxy: node supervisor-main.js <command> [arguments]
// It prints "ready <pid of the command>", ends the command on a stop, and exits with its code. CRASH=1: it throws once
// the command is ready.
import { pino } from 'pino';
import { loadConfig } from '../../src/config/load-config.ts';
import { watchSignals } from '../../src/supervisor/stop-signals.ts';
import { Supervisor } from '../../src/supervisor/supervisor.ts';
import { toCommand } from './supervise.ts';

const log = pino({ level: 'info' }, { write: (text: string) => report(JSON.parse(text)) });
const { config } = loadConfig({
  env: process.env,
  workDirectory: process.cwd(),
  readFile: () => {
    throw Object.assign(new Error('no file'), { code: 'ENOENT' });
  },
});
const supervisor = new Supervisor({ config, command: toCommand(process.argv.slice(2)), log, version: '1.2.3' });
const stop = new AbortController();
watchSignals({
  onStop(signal) {
    stop.abort(signal);
    supervisor.terminate();
  },
  onKill: () => supervisor.kill(),
  onHangup: () => console.log('hangup'),
  passOn: (signal) => supervisor.signal(signal),
});

let commandPid = 0;
await supervisor.start(stop.signal);
console.log(`ready ${commandPid}`);
if (process.env.CRASH) throw new Error('crashed');
process.exit((await supervisor.ended).exitCode);

function report(line: { commandPid?: number }): void {
  if (line.commandPid !== undefined) commandPid = line.commandPid;
}
