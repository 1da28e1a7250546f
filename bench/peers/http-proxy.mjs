import { startNodePeer } from '../lib/node-peer.mjs';
import { installedVersion } from '../lib/versions.mjs';

export const httpProxy = {
  name: 'http-proxy',
  cannot: { workers: 'one thread' },
  version: () => installedVersion('http-proxy'),
  start: (options) => startNodePeer('http-proxy', options),
};
