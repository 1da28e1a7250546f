import { WebSocket as Client } from 'ws';

/** A real connection: k6's has the events and methods of a browser's, as the package `ws` has. */
export class WebSocket extends Client {
  constructor(url: string) {
    super(url, { perMessageDeflate: false });
  }
}
