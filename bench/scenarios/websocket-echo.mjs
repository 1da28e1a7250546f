import { fileURLToPath } from 'node:url';
import { startUwsApp } from '../apps/uws.mjs';
import { cpuAndRate, measureLoad } from '../lib/measure.mjs';
import { echoLoad } from '../lib/websocket-load.mjs';

const CONNECTIONS = 64;
const nativeModule = fileURLToPath(new URL('../apps/programs/native-echo.mjs', import.meta.url));

const echo = ({ name, title, inFlight, payloadBytes }) => ({
  name,
  title: `${title}, ${CONNECTIONS} connections`,
  needs: 'websocket',
  startApp: startUwsApp,
  metrics: cpuAndRate('echo'),
  round: (proxy, { seconds }) =>
    measureLoad(proxy, () => echoLoad({ port: proxy.port, connections: CONNECTIONS, inFlight, payloadBytes, seconds })),
});

/** A message to the app and back, relayed twice. */
export const websocketEchoes = [
  echo({ name: 'ws-echo-1', title: 'WebSocket echo, 64 B, 1 in flight', inFlight: 1, payloadBytes: 64 }),
  echo({ name: 'ws-echo-16', title: 'WebSocket echo, 64 B, 16 in flight', inFlight: 16, payloadBytes: 64 }),
  echo({ name: 'ws-echo-16kb', title: 'WebSocket echo, 16 KB, 1 in flight', inFlight: 1, payloadBytes: 16 * 1024 }),
];

/** The echo in a handler of uwsrp's own process, beside proxies with an app: CPU of proxy and app together. */
export const websocketNative = {
  ...echo({ name: 'ws-native', title: 'WebSocket echo, native or proxy + app', inFlight: 1, payloadBytes: 64 }),
  withApp: true,
  uwsrpModule: nativeModule,
};
