import type { WebSocket } from 'uWebSockets.js';

type Socket = WebSocket<unknown>;
type OnLate = (method: string) => void;
type Closed = Socket & { [ON_LATE]: OnLate };

const ON_LATE = Symbol('onLate');
/** What uWebSockets.js says of a message that it did not take. */
const DROPPED = 2;

/** What else than nothing the methods give. */
const LATE_VALUES: Readonly<Record<string, (ws: Socket) => unknown>> = {
  send: () => DROPPED,
  sendFirstFragment: () => DROPPED,
  sendFragment: () => DROPPED,
  sendLastFragment: () => DROPPED,
  ping: () => DROPPED,
  publish: () => false,
  subscribe: () => false,
  unsubscribe: () => false,
  isSubscribed: () => false,
  getTopics: () => [],
  getBufferedAmount: () => 0,
  getRemoteAddress: () => new ArrayBuffer(0),
  getRemoteAddressAsText: () => new ArrayBuffer(0),
  getRemotePort: () => 0,
  cork: (ws) => ws,
};

/**
 * Makes the methods of a WebSocket that is closed do nothing, and tell `onLate` their name, where uWebSockets.js throws.
 * Only `getUserData` works on, as there. An open WebSocket is left alone, so that it costs nothing.
 */
export function retireWebSocket(ws: Socket, onLate: OnLate): void {
  (ws as Closed)[ON_LATE] = onLate;
  Object.setPrototypeOf(ws, closedPrototype(Object.getPrototypeOf(ws) as object));
}

const prototypes = new WeakMap<object, object>();

function closedPrototype(native: object): object {
  let prototype = prototypes.get(native);
  if (prototype === undefined) {
    const names = Object.getOwnPropertyNames(native).filter((name) => name !== 'constructor' && name !== 'getUserData');
    prototype = Object.assign(Object.create(native), Object.fromEntries(names.map((name) => [name, late(name)])));
    prototypes.set(native, prototype as object);
  }
  return prototype as object;
}

function late(name: string): (this: Closed) => unknown {
  return function () {
    this[ON_LATE](name);
    return LATE_VALUES[name]?.(this);
  };
}
