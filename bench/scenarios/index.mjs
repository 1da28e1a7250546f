// What is measured, in the order of the table. A scenario has a `name`, a `title`, its `metrics` and
// `round(proxy, run)`, which resolves with a value for each metric's key. `startApp()` starts what is behind the
// proxies, `needs` says what a peer must be able to do; with `withApp` the app's processes count too, with `isUnpinned`
// all processes run on all cores. `workers` is how many a peer starts (else one), `uwsrpModule` is run inside uwsrp and
// `uwsrpSettings` are its variables. `proxy` has `port`, `pids`, `app` and `idleBytes` (its memory before the first
// load), `run` has `seconds` and what the run was told.
import { boot } from './boot.mjs';
import { eventStream, websocketBroadcast, websocketNativeBroadcast } from './broadcast.mjs';
import { connectionClose } from './connection-close.mjs';
import { headers } from './headers.mjs';
import { idleConnections, idleNativeWebSockets, idleWebSockets } from './idle.mjs';
import { imageSize } from './image-size.mjs';
import { jsonAnswers } from './json.mjs';
import { post } from './post.mjs';
import { slowApp, slowReaders } from './slow-peers.mjs';
import { smallGets } from './small-get.mjs';
import { download, upload } from './transfers.mjs';
import { pipelining, unixSocket } from './unix-socket.mjs';
import { websocketEchoes, websocketNative } from './websocket-echo.mjs';
import { workers } from './workers.mjs';

export const SCENARIOS = [
  ...[...smallGets, unixSocket, pipelining, ...workers, headers, ...jsonAnswers, post, connectionClose],
  ...[download, upload, slowReaders, slowApp, eventStream],
  ...[...websocketEchoes, websocketNative, websocketBroadcast, websocketNativeBroadcast],
  ...[idleConnections, idleWebSockets, idleNativeWebSockets, boot, imageSize],
];
