import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { formatReadmeTable } from '../../src/config/readme-table.ts';
import { SCHEMA } from '../../src/config/schema.ts';
import { inRepository } from '../helpers/repository.ts';

test('the README holds exactly the table of variables that the schema gives', () => {
  const readme = readFileSync(inRepository('README.md'), 'utf8');
  const [, table] = /<!-- variables -->\n([\s\S]*?)\n<!-- \/variables -->/.exec(readme) ?? [];
  assert.equal(table?.trim(), formatReadmeTable());
});

test('the table has a row of three cells for each variable', () => {
  const rows = formatReadmeTable().split('\n').slice(2);
  assert.equal(rows.length, Object.keys(SCHEMA).length);
  for (const row of rows) assert.equal(row.split(/(?<!\\)\|/).length, 5, row);
});
