import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { AppPeer, ClientPeer } from './peer.ts';
import { RemotePeer } from './remote-peer.ts';
import { inRepository } from './repository.ts';

/** Debian's own: another Python that is found first has none of Debian's packages. */
const PYTHON = '/usr/bin/python3';

/** Debian's python3-websockets. */
export const pythonClient: ClientPeer = {
  name: 'python3-websockets',
  refusal: /403/,
  start: async (t) => startPython(t).connect,
};

export const pythonApp: AppPeer = {
  name: 'python3-websockets',
  async start(t) {
    const remote = startPython(t, 'serve');
    return { port: await remote.ports.next(), opened: remote.opened };
  },
};

/** Ends with the test. */
function startPython(t: TestContext, ...words: string[]): RemotePeer {
  const child = spawn(PYTHON, [inRepository('test', 'fixtures', 'peers', 'websocket_peer.py'), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const remote = new RemotePeer((json) => child.stdin.write(`${json}\n`), true);
  createInterface({ input: child.stdout }).on('line', (line) => remote.hear(line));
  return remote;
}
