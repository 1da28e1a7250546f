import { startNodePeer } from '../lib/node-peer.mjs';
import { installedVersion } from '../lib/versions.mjs';

export const uwsReverseProxy = {
  name: 'uws-reverse-proxy',
  cannot: {
    websocket: 'WebSockets end in it',
    'unix socket': 'only a host and port',
    workers: 'one thread',
    'connection-close': 'closes without saying so',
  },
  version: () => installedVersion('uws-reverse-proxy'),
  start: (options) => startNodePeer('uws-reverse-proxy', options),
};
