import { spawn } from 'node:child_process';
import { readListeningSockets, socketsOf } from '../lib/listening-sockets.ts';

/** The kernel doubles it; the result must stay below the 512 KiB that uWebSockets.js reads at a time. */
const RECEIVE_BUFFER_BYTES = 224 * 1024;

/** Sets SO_RCVBUF (8) at SOL_SOCKET (1) on so many descriptors from 3 on; these numbers are those of Linux on x64 and arm64. */
const SCRIPT = `for my $d (3 .. 2 + shift) {
  open(my $s, "+<&=", $d) or die; setsockopt($s, 1, 8, pack("i", ${RECEIVE_BUFFER_BYTES})) or die
}`;

const MAX_WAIT_MS = 2000;

/**
 * Keeps what can wait in the kernel for a connection to this listening port of ours below what uWebSockets.js reads at
 * a time. The newer build reads again, in the same turn of the event loop and whether paused or not, for as long as a
 * read fills its buffer. A client on the same machine can keep that up: 100 MB of an upload were seen to pass a pause,
 * all of it in memory, and nothing else was served meanwhile. Connections inherit the size from the port (tcp(7)).
 *
 * Neither uWebSockets.js nor Node can set it, but Perl can, which is an essential package of Debian and Ubuntu; it takes
 * 5 ms. The price is that an upload moves no more than about 400 KB a round trip: 8 MB/s at 50 ms.
 *
 * Resolves with whether it was done. Where it was not, all works as before.
 */
export async function limitReceiveBuffers(port: number): Promise<boolean> {
  const descriptors = findListeners(port);
  if (descriptors.length === 0) return false;
  return new Promise((resolve) => {
    const perl = spawn('perl', ['-e', SCRIPT, `${descriptors.length}`], {
      stdio: ['ignore', 'ignore', 'ignore', ...descriptors],
      timeout: MAX_WAIT_MS,
    });
    perl.once('error', () => resolve(false));
    perl.once('exit', (code) => resolve(code === 0));
  });
}

/** Our descriptors of the sockets that listen on the port: one for each thread that shares it. */
function findListeners(port: number): number[] {
  const inodes = new Set(readListeningSockets().flatMap((socket) => (socket.port === port ? socket.inode : [])));
  return socketsOf(process.pid).flatMap(({ inode, descriptor }) => (inodes.has(inode) ? descriptor : []));
}
