import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectRaw } from '../helpers/raw-socket.ts';
import { inRepository } from '../helpers/repository.ts';
import { startUwsrp } from '../helpers/uwsrp.ts';

const ROUNDS = 50;
const COMMANDS = {
  'a bare command': ['node', 'last-request.js'],
  'a shell around it': ['/bin/sh', '-c', 'node last-request.js & wait'],
};

for (const [what, args] of Object.entries(COMMANDS)) {
  test(`the request in flight completes when every process is signalled at once (${what})`, async (t) => {
    const cwd = inRepository('test', 'fixtures', 'commands');
    for (let round = 1; round <= ROUNDS / 2; round += 1) {
      const uwsrp = await startUwsrp(t, { args, cwd });
      const client = await connectRaw(uwsrp.port, t);
      client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await client.readUntil('begun ');

      const { exited } = uwsrp;
      // The order is the kernel's to choose; tini passes on to us what we also got directly.
      const everybody = [...uwsrp.otherProcesses(), uwsrp.pid(), uwsrp.pid()];
      for (const pid of round % 2 === 0 ? everybody : everybody.reverse()) process.kill(pid, 'SIGTERM');

      assert.match(await client.readUntil('done', 5000), /done$/, `round ${round}`);
      client.destroy();
      assert.deepEqual(await exited, { code: what === 'a bare command' ? 0 : 143, signal: null }, `round ${round}`);
    }
  });
}
