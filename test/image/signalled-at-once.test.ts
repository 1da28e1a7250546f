import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { appFiles, type ImageFile, runImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';

test('a signal to every process at once, as Heroku sends it, loses no request in 50 rounds', async (t) => {
  const rounds: ImageFile = {
    path: '/app/rounds.mjs',
    content: readFileSync(inRepository('test', 'fixtures', 'stop-rounds.mjs')),
  };
  const run = await runImage(
    t,
    {
      env: { UWSRP_MODE: 'off' },
      files: [rounds, ...appFiles('slow-answer.js')],
      command: ['node', 'rounds.mjs', '50'],
    },
    280_000,
  );
  const results = run.stdout.trim().split('\n');
  strictEqual(results.length, 50, run.stderr);
  for (const result of results) {
    deepStrictEqual(JSON.parse(result), { status: 200, body: 'the whole answer', signalled: 3, code: 0 });
  }
});
