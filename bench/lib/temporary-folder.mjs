import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onEnd } from './cleanup.mjs';

/** A folder that lasts as long as the run, and that the user of a container may enter too. */
export function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'uwsrp-bench-'));
  chmodSync(path, 0o755);
  onEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
