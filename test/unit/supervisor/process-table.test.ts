import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { descendsFrom, listProcesses, readProcess } from '../../../src/supervisor/process-table.ts';

test('reads the entry of a process, whatever its name holds', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uwsrp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a) Z 1 (b');
  copyFileSync('/bin/sleep', file);
  const child = spawn(file, ['1000'], { detached: true, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');

  const entry = readProcess(child.pid!);
  assert.deepEqual(
    [entry?.pid, entry?.parentPid, entry?.groupId, entry?.isZombie],
    [child.pid, process.pid, child.pid, false],
  );
  assert.ok(entry!.startTicks >= readProcess(process.pid)!.startTicks);
  assert.ok(listProcesses().some(({ pid }) => pid === child.pid));
});

test('a process that is gone has no entry', () => {
  assert.equal(readProcess(2 ** 22 + 1), undefined);
});

test('follows parents up to the ancestor, and not past one that is gone', () => {
  const table = new Map(
    [
      [1, 0],
      [10, 1],
      [11, 10],
      [12, 11],
      [20, 1],
      [31, 30],
    ].map(([pid = 0, parentPid = 0]) => [pid, { pid, parentPid, groupId: 1, startTicks: 0, isZombie: false }]),
  );
  assert.deepEqual(
    [10, 11, 12, 20, 31, 99].map((pid) => descendsFrom(pid, 10, table)),
    [true, true, true, false, false, false],
  );
});
