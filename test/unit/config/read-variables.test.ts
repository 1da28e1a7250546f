import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choice, duration, text } from '../../../src/config/kind.ts';
import { readVariables, type VariableTable } from '../../../src/config/read-variables.ts';

interface Example {
  readonly token: string | undefined;
  readonly format: 'json' | 'pretty';
  readonly timeoutMs: number;
}

const TABLE: VariableTable<Example> = {
  token: {
    name: 'UWSRP_TOKEN',
    kind: {
      ...text('a token of 4 letters'),
      parse(input) {
        if (input.length !== 4) throw new Error(`"${input}" is not a token`);
        return input;
      },
    },
    fallback: undefined,
    meaning: 'A secret.',
    isSecret: true,
  },
  format: { name: 'UWSRP_FORMAT', kind: choice('json', 'pretty'), fallback: 'json', meaning: 'A format.' },
  timeoutMs: {
    name: 'UWSRP_TIMEOUT',
    kind: duration(),
    fallback: 9000,
    platformFallbacks: { heroku: 25_000 },
    meaning: 'A timeout.',
  },
};

function read(values: Record<string, string>, platform?: 'heroku' | 'fly') {
  const given = new Map(
    Object.entries(values).map(([name, value]) => [name, { text: value, source: 'environment' as const }]),
  );
  return readVariables(TABLE, given, platform);
}

test('what is not set has its default, by platform where there is one', () => {
  const general = read({});
  assert.deepEqual(general.values, { token: undefined, format: 'json', timeoutMs: 9000 });
  assert.deepEqual(general.sources, { token: 'default', format: 'default', timeoutMs: 'default' });
  assert.equal(read({}, 'fly').values.timeoutMs, 9000);
  const heroku = read({}, 'heroku');
  assert.equal(heroku.values.timeoutMs, 25_000);
  assert.equal(heroku.sources.timeoutMs, 'platform');
});

test('what is set is parsed and wins over the default', () => {
  const { values, sources, problems } = read({ UWSRP_TOKEN: 'abcd', UWSRP_TIMEOUT: '1s' }, 'heroku');
  assert.deepEqual(values, { token: 'abcd', format: 'json', timeoutMs: 1000 });
  assert.deepEqual(sources, { token: 'environment', format: 'default', timeoutMs: 'environment' });
  assert.equal(problems.size, 0);
});

test('all problems are reported at once, each with what is allowed', () => {
  const { problems } = read({ UWSRP_FORMAT: 'xml', UWSRP_TIMEOUT: '12abc' });
  assert.deepEqual(
    [...problems],
    [
      ['format', 'UWSRP_FORMAT: "xml" is unknown (allowed: json or pretty)'],
      [
        'timeoutMs',
        'UWSRP_TIMEOUT: "12abc" is not a duration (allowed: a duration with its unit, such as 250ms, 30s or 5m, up to 24h)',
      ],
    ],
  );
});

test('a secret is not echoed', () => {
  const { problems } = read({ UWSRP_TOKEN: 'hunter2' });
  assert.equal(
    problems.get('token'),
    'UWSRP_TOKEN: the value (not shown) is not valid (allowed: a token of 4 letters)',
  );
});

test('NODE_ENV of the app changes nothing', () => {
  for (const value of ['test', 'development', 'production']) {
    assert.deepEqual(read({ NODE_ENV: value }).values, { token: undefined, format: 'json', timeoutMs: 9000 });
  }
});
