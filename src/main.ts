#!/usr/bin/env node
import { readFileSync, statSync } from 'node:fs';
import { formatCheck } from './config/check.ts';
import { type CliRequest, parseArguments } from './config/cli.ts';
import { ConfigError } from './config/config-error.ts';
import { formatHelp } from './config/help.ts';
import { loadConfig } from './config/load-config.ts';
import { exitCodeOf, UwsrpError } from './lib/errors.ts';
import { readVersion } from './lib/version.ts';
import { createLogger } from './log/logger.ts';
import { checkModuleFile } from './native/module-file.ts';
import { readErrorPages } from './proxy/error-pages.ts';
import { findCommand } from './supervisor/find-command.ts';
import { runOneOff } from './supervisor/one-off.ts';

// Not awaited here: the image has all of this in one CommonJS file, which knows no await at the top.
void run();

async function run(): Promise<void> {
  try {
    process.exitCode = await main(parseArguments(process.argv.slice(2)));
  } catch (error) {
    process.stderr.write(describe(error));
    process.exitCode = exitCodeOf(error);
  }
  // Whatever a fault left open must not keep a container alive that no longer serves.
  process.exit();
}

async function main(request: CliRequest): Promise<number> {
  if (request.kind === 'help') return print(formatHelp());
  if (request.kind === 'version') return print(`${readVersion()}\n`);
  const args = request.kind === 'run' ? request.args : [];

  const { config, sources } = loadConfig({
    env: process.env,
    workDirectory: process.cwd(),
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const errorPages = readErrorPages(config.errorPages);
  checkModuleFile(config.wsModule);
  if (request.kind === 'check') return print(formatCheck(config, sources));

  const command = findCommand({ args, config, readFile: tryReadFile, fileExists: isFile });
  if (config.isOneOff) return runOneOff({ command, config });

  const log = createLogger(config);
  // uWebSockets.js reads its limit for request heads once, while it is loaded.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(config.maxHeaderBytes);
  const { runService } = await import('./service.ts');
  return runService({ config, command, log, version: readVersion(), errorPages });
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Plain text for people. A stack is for faults of ours only. */
function describe(error: unknown): string {
  if (error instanceof ConfigError) return `${error.problems.map((problem) => `uwsrp: ${problem}`).join('\n')}\n`;
  if (error instanceof UwsrpError) return `uwsrp: ${error.message}\n`;
  return `uwsrp: a fault of uwsrp: ${error instanceof Error ? error.stack : String(error)}\n`;
}

function tryReadFile(path: string): string | undefined {
  return isFile(path) ? readFileSync(path, 'utf8') : undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
