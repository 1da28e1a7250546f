import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../helpers/http.ts';
import { patternHash, patternOf } from '../helpers/pattern.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

test('the Python server behind the proxy: lengths, chunks and the end of the connection', async (t) => {
  const uwsrp = await startUwsrp(t, { args: ['python3', 'apps/python_http.py'] });
  assert.equal((await request(uwsrp.port, { path: '/a' })).text, 'hello from Python: /a');
  assert.equal((await request(uwsrp.port, { path: '/stream' })).text.split('\n').length, 101);
  assert.equal((await request(uwsrp.port, { path: '/close' })).text, 'until the end');
  const head = await request(uwsrp.port, { method: 'HEAD', path: '/a' });
  assert.equal(head.headers['content-length'], '21');
  const body = Buffer.concat([...patternOf(1_000_003)]);
  for (const headers of [{ 'Content-Length': body.length }, { 'Transfer-Encoding': 'chunked' }]) {
    const answer = await request(uwsrp.port, { method: 'POST', path: '/', headers, body });
    assert.deepEqual(JSON.parse(answer.text), { bytes: body.length, sha256: patternHash(body.length) });
  }
});
