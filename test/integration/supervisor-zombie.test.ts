import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownGroup } from '../../src/supervisor/process-group.ts';
import { readProcess } from '../../src/supervisor/process-table.ts';
import { runProgram } from '../helpers/program.ts';

test('a group of zombies that nobody waits for is gone', async (t) => {
  const program = runProgram(t, ['python3', 'unreaped.py']);
  const pid = Number((await program.waitFor(/^\d+/))[0]);
  assert.ok(readProcess(pid)?.isZombie);
  assert.ok(process.kill(-pid, 0), 'the kernel still has the group');
  assert.ok(ownGroup(pid).isGone());
  program.kill('SIGKILL');
  await program.exit;
});
