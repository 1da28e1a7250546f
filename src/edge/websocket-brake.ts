import type { HttpResponse, WebSocket } from 'uWebSockets.js';

/** The Node 20 build has no `getRemotePort`, and the types know it on neither object. */
interface HasRemotePort {
  getRemotePort?(): number;
}

/**
 * Stops and resumes the reading of one client's WebSocket, so that TCP holds the client back while the app is slow.
 *
 * uWebSockets.js can pause an HTTP response and not a WebSocket. But a response object that it made for the handshake
 * and did not use for the upgrade still points to the connection: the upgrade shrinks the connection's memory in place
 * (280 to 200 bytes in both pinned builds; glibc never moves what shrinks), and `pause` and `resume` touch only what
 * all connections have, the poll and the timer. `resume` sets the timer to 10 s, at whose end a WebSocket is pinged.
 *
 * The pointer is only good while the WebSocket is open: the caller sees to that. Should an upgrade ever move the
 * memory, the remote port read through the stale pointer is not the WebSocket's, and nothing is touched.
 */
export class WebSocketBrake {
  readonly #response: HttpResponse & HasRemotePort;
  readonly #ws: WebSocket<unknown> & HasRemotePort;

  constructor(response: HttpResponse, ws: WebSocket<unknown>) {
    this.#response = response;
    this.#ws = ws;
  }

  /** Safe to repeat: a send that the client does not take at once makes uWebSockets.js read again. */
  pause(): void {
    if (this.#isSameConnection()) this.#response.pause();
  }

  resume(): void {
    if (this.#isSameConnection()) this.#response.resume();
  }

  #isSameConnection(): boolean {
    return this.#response.getRemotePort === undefined || this.#response.getRemotePort() === this.#ws.getRemotePort?.();
  }
}
