import { once } from 'node:events';
import { Agent, type IncomingMessage, request as nodeRequest, type OutgoingHttpHeaders } from 'node:http';
import { type Address, connectOptions } from './address.ts';
import { withTimeout } from './timeout.ts';

export interface HttpRequest {
  readonly method?: string;
  /** Path and query, as sent. */
  readonly path?: string;
  /** An array is sent as raw name, value, name, value… with the case kept. */
  readonly headers?: OutgoingHttpHeaders | readonly string[];
  readonly body?: string | Buffer;
  /** A fresh connection per request unless an agent is given (`keepAliveAgent`). */
  readonly agent?: Agent;
  readonly timeoutMs?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: IncomingMessage['headers'];
  /** Name, value, name, value… as on the wire. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
}

/** Sends one ordinary request by node:http and reads the whole answer. A cut answer rejects (`ECONNRESET`). */
export async function request(address: Address, options: HttpRequest = {}): Promise<HttpResponse> {
  const { timeoutMs = 5000, method = 'GET', path = '/' } = options;
  const response = exchange(address, options);
  return withTimeout(response, `an answer to ${method} ${path}`, timeoutMs);
}

/** An agent that keeps its connections; destroy it after the test. */
export function keepAliveAgent(maxSockets = 1): Agent {
  return new Agent({ keepAlive: true, maxSockets });
}

async function exchange(address: Address, options: HttpRequest): Promise<HttpResponse> {
  const { method = 'GET', path = '/', headers = {}, body } = options;
  const agent = options.agent ?? new Agent({ keepAlive: false });
  const target = connectOptions(address);
  const where = 'path' in target ? { socketPath: target.path } : { host: target.host, port: target.port };
  try {
    const outgoing = nodeRequest({ ...where, method, path, headers: headers as OutgoingHttpHeaders, agent });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    // A late write error (an early answer to an upload) must not hide the answer.
    outgoing.on('error', () => {});
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const whole = Buffer.concat(chunks);
    return {
      status: incoming.statusCode!,
      reason: incoming.statusMessage!,
      headers: incoming.headers,
      rawHeaders: incoming.rawHeaders,
      body: whole,
      text: whole.toString(),
    };
  } finally {
    if (agent !== options.agent) agent.destroy();
  }
}
