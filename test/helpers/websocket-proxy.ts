import uWS, { type HttpRequest, type HttpResponse } from 'uWebSockets.js';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { type Logger, pino } from 'pino';
import type { UpgradeRequest } from '../../src/edge/websocket-relay.ts';
import { WebSocketRelays, type WebSocketRelaysOptions } from '../../src/edge/websocket-relays.ts';
import { judgeUpgrade } from '../../src/edge/websocket-request.ts';
import { ERRORS, type ErrorCode } from '../../src/lib/errors.ts';
import type { UpstreamTarget } from '../../src/lib/upstream-target.ts';
import type { UpgradeRefusal } from '../../src/upstream/websocket-client.ts';

export interface WebSocketProxy {
  readonly port: number;
  readonly relays: WebSocketRelays;
  /** `ws://127.0.0.1:<port>` */
  readonly url: string;
  /** Codes and reasons of the handshakes that were refused for the app's sake, in order. */
  readonly refusals: { code: ErrorCode; why: string }[];
  /** What was logged, one line each. */
  readonly logged: string[];
}

export const TEST_OPTIONS: WebSocketRelaysOptions = {
  connectTimeoutMs: 2000,
  handshakeTimeoutMs: 2000,
  closeTimeoutMs: 500,
  maxHeadBytes: 64 * 1024,
  maxMessageBytes: 16 * 1024 * 1024,
  maxBacklogBytes: 32 * 1024 * 1024,
  compression: 'off',
  idleTimeoutMs: 60_000,
  pingTickMs: 5_000,
};

/** The relay on an HTTP side that does just enough: what the tests of the whole proxy do not need to repeat. */
export async function startWebSocketProxy(
  t: TestContext,
  target: UpstreamTarget | number,
  options: Partial<WebSocketRelaysOptions> = {},
): Promise<WebSocketProxy> {
  const refusals: WebSocketProxy['refusals'] = [];
  const logged: string[] = [];
  const log: Logger = pino({}, { write: (line: string) => void logged.push(line) });
  const where: UpstreamTarget = typeof target === 'number' ? { kind: 'tcp', host: '127.0.0.1', port: target } : target;
  const relays = new WebSocketRelays(
    {
      log,
      target: () => where,
      readRequest: (res, req) => readRequest(res, req, refusals),
      refuseRequest: (res, _req, code) => answer(res, code),
    },
    { ...TEST_OPTIONS, ...options },
  );
  const app = uWS.App();
  relays.register(app, (res, req) => {
    const verdict = judgeUpgrade(req);
    if (verdict === 'none' || verdict === 'valid') res.end('http');
    else answer(res, verdict);
  });
  const port = await new Promise<number>((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (socket === false) reject(new Error('the test proxy could not listen'));
      else resolve(uWS.us_socket_local_port(socket));
    });
  });
  t.after(() => {
    relays.terminateAll();
    app.close();
  });
  return { port, relays, url: `ws://127.0.0.1:${port}`, refusals, logged };
}

function readRequest(res: HttpResponse, req: HttpRequest, refusals: WebSocketProxy['refusals']): UpgradeRequest {
  const query = req.getQuery();
  let head = `GET ${req.getUrl()}${query ? `?${query}` : ''} HTTP/1.1\r\n`;
  const protocols: string[] = [];
  req.forEach((name, value) => {
    if (name === 'sec-websocket-protocol') protocols.push(value);
    else if (!/^(connection|upgrade|sec-websocket-.*)$/.test(name)) head += `${name}: ${value}\r\n`;
  });
  return {
    head,
    protocols: protocols.length === 0 ? undefined : protocols.join(', '),
    refuse: (code, why) => {
      refusals.push({ code, why });
      answer(res, code);
    },
    relayResponse: (refusal) => void relayResponse(res, refusal),
    onAccepted: () => {},
    onGone: () => {},
  };
}

function answer(res: HttpResponse, code: ErrorCode): void {
  const row = ERRORS[code] as { status: number; clientText: string };
  res.cork(() => {
    res.writeStatus(`${row.status} ${code}`);
    if (code === 'UPGRADE_REQUIRED') res.writeHeader('Sec-WebSocket-Version', '13');
    res.end(row.clientText, true);
  });
}

/** Collects an answer up to the end of the connection, and sends it on. */
async function relayResponse(res: HttpResponse, refusal: UpgradeRefusal): Promise<void> {
  let isAborted = false;
  res.onAborted(() => {
    isAborted = true;
    refusal.socket.destroy();
  });
  const chunks = [refusal.received];
  refusal.onData((chunk) => chunks.push(Buffer.from(chunk)));
  refusal.socket.resume();
  await once(refusal.socket, 'close');
  if (isAborted) return;
  const text = Buffer.concat(chunks).toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine, ...fields] = text.slice(0, end).split('\r\n');
  res.cork(() => {
    res.writeStatus(statusLine!.slice('HTTP/1.1 '.length));
    for (const field of fields) {
      const [, name, value] = /^([^:]+): (.*)$/.exec(field)!;
      if (!/^(content-length|connection|date)$/i.test(name!)) res.writeHeader(name!, value!);
    }
    res.end(text.slice(end + 4));
  });
}
