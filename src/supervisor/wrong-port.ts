import type { Config } from '../config/config.ts';
import type { AppAddress } from './app-address.ts';
import { isReachableOnLoopback, type Listener } from './listening-ports.ts';

/**
 * The sentence for a command that listens, but not where it was asked to: what it does and what to change. Undefined
 * when it listens in the right place, or on nothing that can be seen.
 */
export function explainWrongPort(
  listeners: readonly Listener[],
  address: AppAddress,
  config: Pick<Config, 'appPort' | 'appPortVariable' | 'appSocket' | 'port'>,
): string | undefined {
  const variable = config.appPortVariable;
  const atPort = listeners.filter((listener) => listener.port === address.port);
  if (listeners.length === 0 || atPort.some(isReachableOnLoopback)) return undefined;
  if (atPort[0] !== undefined) {
    return `the command listens on ${atPort[0].address} only: make it listen on 127.0.0.1`;
  }

  const ports = [...new Set(listeners.map((listener) => listener.port))].sort((a, b) => a - b);
  const listens = `the command listens on ${ports.join(' and ')}`;
  if (address.port === undefined) {
    return `${listens}, but ${variable} is the socket ${address.value}: make it listen there, or unset UWSRP_APP_SOCKET`;
  }
  const expected =
    config.appPort === undefined
      ? `${variable} is ${address.value}`
      : `UWSRP_APP_PORT is ${address.value}, which it got as ${variable}`;
  // The public port is ours: to move uwsrp away from it is no remedy where the platform chose it.
  const usable = ports.filter((port) => port !== config.port);
  const remedy =
    usable.length === 0
      ? `make it read $${variable} (${config.port} is the public port, which uwsrp serves itself)`
      : `make it read $${variable} or set UWSRP_APP_PORT=${usable[0]}`;
  return `${listens}, but ${expected}: ${remedy}`;
}
