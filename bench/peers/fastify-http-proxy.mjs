import { startNodePeer } from '../lib/node-peer.mjs';
import { installedVersion } from '../lib/versions.mjs';

export const fastifyHttpProxy = {
  name: '@fastify/http-proxy',
  cannot: {
    'unix socket': 'not with its undici client',
    workers: 'one thread',
    'connection-close': 'keeps the connection open',
  },
  version: () => installedVersion('@fastify/http-proxy'),
  start: (options) => startNodePeer('fastify-http-proxy', options),
};
