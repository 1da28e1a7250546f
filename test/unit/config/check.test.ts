import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCheck, formatValue } from '../../../src/config/check.ts';
import { text } from '../../../src/config/kind.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { SCHEMA } from '../../../src/config/schema.ts';

function check(env: Record<string, string>, file = ''): string {
  const { config, sources } = loadConfig({ env, workDirectory: '/app', readFile: () => file });
  return formatCheck(config, sources);
}

function row(text: string, name: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return (line ?? assert.fail(`no line for ${name}`)).replace(/ {2,}/g, ' | ');
}

test('the check shows every value in force with its source', () => {
  const output = check(
    { DYNO: 'web.1', PORT: '5000', UWSRP_FORCE_SSL: 'TRUE', UWSRP_TRUST_PROXY: '10.0.0.0/8, ::1' },
    'UWSRP_READY_STATUS=200-299,404\nUWSRP_COMMAND=uwsrp',
  );
  for (const { name } of Object.values(SCHEMA)) row(output, name);
  assert.match(output, /^The configuration is valid\.\nPlatform: Heroku\n/);
  assert.equal(row(output, 'PORT'), 'PORT | 5000 | environment');
  assert.equal(row(output, 'UWSRP_FORCE_SSL'), 'UWSRP_FORCE_SSL | on | environment');
  assert.equal(row(output, 'UWSRP_TRUST_PROXY'), 'UWSRP_TRUST_PROXY | 10.0.0.0/8,::1 | environment');
  assert.equal(row(output, 'UWSRP_READY_STATUS'), 'UWSRP_READY_STATUS | 200-299,404 | /app/.env');
  assert.equal(row(output, 'UWSRP_COMMAND'), 'UWSRP_COMMAND | none | /app/.env');
  assert.equal(row(output, 'UWSRP_READY_TIMEOUT'), 'UWSRP_READY_TIMEOUT | 55s | default on Heroku');
  assert.equal(row(output, 'UWSRP_FORWARDED_FOR'), 'UWSRP_FORWARDED_FOR | keep | default on Heroku');
  assert.equal(row(output, 'UWSRP_DRAIN_TIMEOUT'), 'UWSRP_DRAIN_TIMEOUT | 10s | default');
  assert.equal(row(output, 'UWSRP_HOST'), 'UWSRP_HOST | all interfaces, IPv4 and IPv6 | default');
  assert.equal(row(output, 'UWSRP_FORCE_SSL_EXEMPT'), 'UWSRP_FORCE_SSL_EXEMPT | – | default');
  assert.equal(row(output, 'UWSRP_DOTENV'), 'UWSRP_DOTENV | /app/.env | default');
});

test('the check names a one-off process and a missing platform', () => {
  const output = check({ UWSRP_MODE: 'off', UWSRP_DOTENV: 'off' });
  assert.match(output, /Platform: none recognised\n.*one-off/);
  assert.equal(row(output, 'UWSRP_DOTENV'), 'UWSRP_DOTENV | none | environment');
});

test('a secret is masked', () => {
  const secret = {
    name: 'UWSRP_TOKEN',
    kind: text('a token'),
    fallback: undefined,
    meaning: 'A token.',
    isSecret: true as const,
  };
  assert.equal(formatValue(secret, 'hunter2', 'environment'), '(set, not shown)');
  assert.equal(formatValue(secret, 'hunter2', 'file'), '(set, not shown)');
  assert.equal(formatValue(secret, undefined, 'default'), '–');
});
