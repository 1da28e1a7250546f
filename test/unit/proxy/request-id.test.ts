import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRequestId } from '../../../src/proxy/request-id.ts';

const requestId = createRequestId({ requestId: true });
const MADE = /^[0-9a-f]{32}$/;

for (const id of [
  'a',
  '7d6a1f30-0b3c-4f8e-9a55-6b0f1f0f2c3d',
  'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8',
  '01JZ8Q3K5V0000000000000000-ams',
  'a/b+c=@d,e|f~g:h_i.j',
  'x'.repeat(200),
]) {
  test(`keeps ${id.slice(0, 70)}`, () => {
    assert.equal(requestId({ requestId: id }), id);
  });
}

for (const id of [
  undefined,
  '',
  ' ',
  'two words',
  'one, two',
  'tab\there',
  'line\r\nX-Evil: 1',
  'line\n',
  'nul\0',
  '"quoted"',
  "it's",
  '<script>',
  'back\\slash',
  'percent%0d%0a',
  'curly{}',
  '$(id)',
  '`id`',
  'caf\xe9',
  '\x1b[31m',
  'x'.repeat(201),
  'x'.repeat(10_240),
]) {
  test(`makes a new one for ${JSON.stringify(id)?.slice(0, 60) ?? 'none'}`, () => {
    assert.match(requestId({ requestId: id })!, MADE);
  });
}

test('never makes the same twice, over many refills of its supply', () => {
  const ids = new Set(Array.from({ length: 5000 }, () => requestId({ requestId: undefined })));
  assert.equal(ids.size, 5000);
  for (const id of ids) assert.match(id!, MADE);
});

test('gives none when the variable is off, whatever the client sent', () => {
  const off = createRequestId({ requestId: false });
  assert.equal(off({ requestId: undefined }), undefined);
  assert.equal(off({ requestId: 'abc' }), undefined);
});
