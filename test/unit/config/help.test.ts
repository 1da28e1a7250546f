import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatHelp } from '../../../src/config/help.ts';
import { SCHEMA } from '../../../src/config/schema.ts';
import { readVersion } from '../../../src/lib/version.ts';

const help = formatHelp();

test('the help names version, flags and every variable', () => {
  assert.ok(help.startsWith(`uwsrp ${readVersion()}`));
  for (const word of ['--help', '--check', '--version']) assert.ok(help.includes(word), word);
  for (const { name } of Object.values(SCHEMA)) assert.match(help, new RegExp(`^  ${name} `, 'm'));
  assert.match(help.replaceAll(/\s+/g, ' '), /5m \(55s on Heroku and Scalingo/);
});

test('the help is plain text of at most 100 columns', () => {
  for (const line of help.split('\n')) assert.ok(line.length <= 100, line);
  assert.doesNotMatch(help, /`|undefined|\[object/);
});
