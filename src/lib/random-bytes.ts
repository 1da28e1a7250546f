import { closeSync, openSync, readSync } from 'node:fs';

/**
 * Random bytes that nobody can foresee, from the kernel (random(4)). Not node:crypto's, which on Node 24 takes 8 ms and
 * 6 MB to load, and would be loaded for these alone in a process without WebSockets; it is asked only where there is no
 * /dev/urandom.
 */
export function randomBytes(count: number): Buffer {
  return tryReadDevice(count) ?? process.getBuiltinModule('node:crypto').randomBytes(count);
}

function tryReadDevice(count: number): Buffer | undefined {
  const bytes = Buffer.alloc(count);
  try {
    const device = openSync('/dev/urandom', 'r');
    try {
      // Only reads of more than 256 bytes may be cut short, by a signal.
      for (let read = 0; read < count; ) read += readSync(device, bytes, read, count - read, null);
    } finally {
      closeSync(device);
    }
  } catch {
    return undefined;
  }
  return bytes;
}
