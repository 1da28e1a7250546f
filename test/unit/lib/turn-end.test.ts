import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { turnDate, turnNow } from '../../../src/lib/turn-clock.ts';
import { atTurnEnd } from '../../../src/lib/turn-end.ts';
import { inRepository } from '../../helpers/repository.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function busyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('runs tasks once, in their order, and not before the turn ends', async () => {
  const ran: number[] = [];
  const tasks = [1, 2, 3].map((number) => ({ onTurnEnd: () => ran.push(number) }));
  for (const task of tasks) atTurnEnd(task);
  await Promise.resolve();
  assert.deepEqual(ran, []);
  await nextTurn();
  assert.deepEqual(ran, [1, 2, 3]);
  await nextTurn();
  assert.deepEqual(ran, [1, 2, 3]);
});

test('what a task asks for comes in the turn after', async () => {
  const ran: string[] = [];
  atTurnEnd({
    onTurnEnd() {
      ran.push('first');
      atTurnEnd({ onTurnEnd: () => ran.push('second') });
    },
  });
  await nextTurn();
  assert.deepEqual(ran, ['first']);
  await nextTurn();
  assert.deepEqual(ran, ['first', 'second']);
});

test('a task that throws costs those behind it a turn, and no more', () => {
  // In a process of its own: an uncaught error would fail this one's test.
  const script = `
    import { atTurnEnd } from ${JSON.stringify(pathToFileURL(inRepository('dist', 'lib', 'turn-end.js')).href)};
    process.on('uncaughtException', (error) => console.log(error.message));
    const say = (word) => ({ onTurnEnd: () => console.log(word) });
    atTurnEnd(say('before'));
    atTurnEnd({ onTurnEnd() { throw new Error('an error'); } });
    atTurnEnd(say('behind'));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  assert.deepEqual(output.trim().split('\n'), ['before', 'an error', 'behind']);
});

test('the clocks stand still in a turn, and are right in the next one', async () => {
  const [before, dateBefore] = [turnNow(), turnDate()];
  busyFor(3);
  assert.equal(turnNow(), before);
  assert.equal(turnDate(), dateBefore);
  await nextTurn();
  const [lowest, lowestDate] = [performance.now(), Date.now()];
  assert.ok(turnNow() >= lowest);
  assert.ok(turnDate() >= lowestDate);
});
