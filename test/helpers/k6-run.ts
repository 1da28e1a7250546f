/**
 * Runs a load scenario's setup and one of its iterations in this process, with stand-ins for the modules of k6, and
 * prints what came of it as JSON: `node k6-run.js <scenario>`.
 */
import { register } from 'node:module';
import { record } from './k6/record.ts';

register('./k6-hooks.js', import.meta.url);
Object.assign(globalThis, { __ENV: process.env });

const { options, setup, default: iterate } = await import(`../load/${process.argv[2]}.js`);
setup();
iterate();
// As in k6, an iteration is over when nothing is left that it waits for.
process.once('beforeExit', () => console.log(JSON.stringify({ options, ...record })));
