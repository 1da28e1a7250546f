export { clearTimeout, setTimeout } from 'node:timers';
