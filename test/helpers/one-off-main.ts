// A one-off command as main.ts runs it: node one-off-main.js <command> [arguments]. AS_CHILD=1 for where Node cannot
// replace itself.
import { runOneOff } from '../../src/supervisor/one-off.ts';
import { toCommand } from './supervise.ts';

const environment = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);
process.exitCode = await runOneOff({
  command: toCommand(process.argv.slice(2)),
  config: { childEnvironment: environment, workDirectory: process.cwd() },
  ...(process.env.AS_CHILD ? { execve: undefined } : {}),
});
