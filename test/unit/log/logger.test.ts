import assert from 'node:assert/strict';
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ConfigError } from '../../../src/config/config-error.ts';
import { createLogger } from '../../../src/log/logger.ts';
import { inRepository } from '../../helpers/repository.ts';
import { withTimeout } from '../../helpers/timeout.ts';

const loggerUrl = new URL('../../../src/log/logger.js', import.meta.url).href;

function logFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-log-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'uwsrp.log');
}

function linesOf(path: string): Record<string, unknown>[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Starts the fixture and waits until it has logged its first line. */
async function startFixture(t: TestContext, format: string, stdout: 'pipe' | number): Promise<ChildProcess> {
  const stdio: StdioOptions = ['pipe', stdout, 'pipe'];
  const child = spawn(process.execPath, [inRepository('test/fixtures/log-lines.js'), loggerUrl, format], { stdio });
  t.after(() => child.kill('SIGKILL'));
  await withTimeout(once(child.stderr!, 'data'), 'the fixture to be ready');
  return child;
}

async function finish(child: ChildProcess): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin!.end('go\n');
  const [code] = await withTimeout(once(child, 'close'), 'the fixture to end');
  return { code, stderr };
}

test('a line is a JSON object with level as a word and time as ISO text, written at once', (t) => {
  const path = logFile(t);
  const { logger } = createLogger({ logLevel: 'info', logFormat: 'json', logFile: path });
  logger.info({ port: 8080 }, 'listening');
  logger.debug('not this one');
  logger.child({ part: 'edge' }).error({ err: new Error('boom') }, 'failed');
  const [first, second, ...rest] = linesOf(path);
  assert.deepEqual(rest, []);
  const { time, ...others } = first!;
  assert.deepEqual(others, { level: 'info', name: 'uwsrp', port: 8080, msg: 'listening' });
  assert.equal(new Date(time as string).toISOString(), time);
  assert.equal(second!.level, 'error');
  assert.equal(second!.part, 'edge');
  assert.equal((second!.err as Error).message, 'boom');
});

test('the level decides what is written', (t) => {
  const path = logFile(t);
  createLogger({ logLevel: 'silent', logFormat: 'json', logFile: path }).logger.fatal('nothing');
  assert.equal(readFileSync(path, 'utf8'), '');
  createLogger({ logLevel: 'trace', logFormat: 'json', logFile: path }).logger.trace('everything');
  assert.equal(linesOf(path).length, 1);
});

test('pretty lines are for people, written at once, and without colours in a file', (t) => {
  const path = logFile(t);
  const { logger } = createLogger({ logLevel: 'info', logFormat: 'pretty', logFile: path });
  logger.warn({ port: 8080 }, 'listening');
  const text = readFileSync(path, 'utf8');
  assert.match(text, /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] WARN: listening\n\s+port: 8080\n$/);
});

test('reopen follows a file that was moved away', (t) => {
  const path = logFile(t);
  const { logger, reopen } = createLogger({ logLevel: 'info', logFormat: 'json', logFile: path });
  logger.info('one');
  renameSync(path, `${path}.1`);
  reopen();
  logger.info('two');
  assert.equal(linesOf(`${path}.1`)[0]!.msg, 'one');
  assert.equal(linesOf(path)[0]!.msg, 'two');
});

test('a reopen that fails is logged to the old file', (t) => {
  const path = logFile(t);
  const { logger, reopen } = createLogger({ logLevel: 'info', logFormat: 'json', logFile: path });
  logger.info('one');
  const folder = join(path, '..');
  renameSync(folder, `${folder}-moved`);
  t.after(() => rmSync(`${folder}-moved`, { recursive: true, force: true }));
  reopen();
  const lines = linesOf(join(`${folder}-moved`, 'uwsrp.log'));
  assert.match(lines[1]!.msg as string, /^UWSRP_LOG_FILE cannot be reopened/);
  assert.equal((lines[1]!.err as { code?: string }).code, 'ENOENT');
});

test('reopen does nothing when the log goes to stdout', () => {
  assert.doesNotThrow(() => createLogger({ logLevel: 'silent', logFormat: 'json', logFile: undefined }).reopen());
});

test('a log file that cannot be opened is a configuration error that names the variable', () => {
  assert.throws(
    () => createLogger({ logLevel: 'info', logFormat: 'json', logFile: '/nonexistent/uwsrp.log' }),
    (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /^UWSRP_LOG_FILE: "\/nonexistent\/uwsrp\.log" cannot be opened: ENOENT \(allowed: /);
      return true;
    },
  );
});

for (const format of ['json', 'pretty']) {
  test(`lines on stdout are all out before process.exit (${format})`, async (t) => {
    const child = await startFixture(t, format, 'pipe');
    let stdout = '';
    child.stdout!.on('data', (chunk) => {
      stdout += chunk;
    });
    assert.deepEqual(await finish(child), { code: 0, stderr: 'alive\n' });
    assert.equal(stdout.match(/first/g)?.length, 1);
    assert.equal(stdout.match(/more/g)?.length, 100);
    assert.equal(stdout.includes('\u001b'), false);
  });
}

test('a reader of stdout that goes away does not end the process', async (t) => {
  const child = await startFixture(t, 'json', 'pipe');
  child.stdout!.destroy();
  await withTimeout(once(child.stdout!, 'close'), 'the pipe to close');
  assert.deepEqual(await finish(child), { code: 0, stderr: 'alive\n' });
});

test('a stdout that takes nothing does not end the process', async (t) => {
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const child = await startFixture(t, 'json', full);
  assert.deepEqual(await finish(child), { code: 0, stderr: 'alive\n' });
});
