// Peers and load generators come from Debian. On a machine without them root installs them; anyone else is told how.
import { spawnSync } from 'node:child_process';

/** Makes sure that each Debian package's program is on PATH: `{ nginx: 'nginx-light', wrk: 'wrk' }`. */
export function needPrograms(packages) {
  const path = `${process.env.PATH}:/usr/sbin:/sbin`;
  process.env.PATH = path;
  const missing = Object.entries(packages).filter(([program]) => spawnSync('which', [program]).status !== 0);
  if (missing.length === 0) return;
  const names = missing.map(([, name]) => name);
  if (process.getuid() !== 0) throw new Error(`needed for the benchmark: apt-get install ${names.join(' ')}`);
  console.error(`installing ${names.join(', ')} from Debian`);
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...names],
  ]) {
    const { status, stderr } = spawnSync('apt-get', args, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (status !== 0) throw new Error(`apt-get ${args.join(' ')}: ${stderr}`);
  }
}
