import { fileURLToPath } from 'node:url';
import { wrkScenario } from './wrk-scenario.mjs';

/** A body that fits one packet. */
export const post = wrkScenario({
  name: 'post-1kb',
  title: 'POST 1 KB',
  request: { connections: 64, script: fileURLToPath(new URL('post.lua', import.meta.url)) },
});
