// Connections that each send a message, wait for it to come back, and send the next.
import { check } from 'k6';
import { Rate, Trend } from 'k6/metrics';
import type { Options } from 'k6/options';
import { clearTimeout, setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';
import { BASE_URL, holdDuration, MESSAGE_BYTES, MESSAGES, P95_MS, virtualUsers, WS_PATH } from './lib/settings.ts';

export { setup } from './lib/setup.ts';

const echoMs = new Trend('ws_echo', true);
const failed = new Rate('ws_failed');
const SILENCE_MS = 30_000;

export const options: Options = {
  scenarios: {
    websocket: { executor: 'constant-vus', vus: virtualUsers(50), duration: holdDuration('1m') },
  },
  thresholds: {
    checks: ['rate>0.999'],
    ws_failed: ['rate<0.001'],
    ws_echo: [`p(95)<${P95_MS}`],
  },
};

/** k6 ends the iteration when the connection is closed. */
export default function exchangeMessages(): void {
  const socket = new WebSocket(`${BASE_URL.replace(/^http/, 'ws')}${WS_PATH}`, null, { tags: { name: WS_PATH } });
  const silence = setTimeout(() => socket.close(), SILENCE_MS);
  let done = 0;
  let sentAt = 0;
  let message = '';

  const send = () => {
    message = String(done).padEnd(MESSAGE_BYTES, '.');
    sentAt = Date.now();
    socket.send(message);
  };

  socket.addEventListener('open', send);
  socket.addEventListener('message', (event) => {
    if (!('data' in event)) return;
    echoMs.add(Date.now() - sentAt);
    check(event.data, { 'came back unchanged': (data) => data === message });
    done += 1;
    if (done < MESSAGES) send();
    else socket.close(1000);
  });
  // A refused upgrade is an error and, unlike a cut connection, no close.
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(silence);
    failed.add(done < MESSAGES);
  };
  socket.addEventListener('error', end);
  socket.addEventListener('close', end);
}
