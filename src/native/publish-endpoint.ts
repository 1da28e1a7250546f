import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from '../lib/random-bytes.ts';
import type { PublishedMessage } from './native-module.ts';
import { BadPublication, type Publication, readPublications } from './publication.ts';

export interface PublishEndpointOptions {
  /** Largest body in bytes, else 413. */
  readonly maxBytes: number;
  publish(topic: string, message: PublishedMessage): void;
}

/**
 * Where the command publishes to native subscribers (design section 5b): an HTTP server on loopback, on a port that
 * only the command is told, for whoever has the token. It has nothing to do with the public port.
 */
export class PublishEndpoint {
  readonly #options: PublishEndpointOptions;
  readonly #server: Server;
  readonly #token = randomBytes(32).toString('hex');
  readonly #wanted = digest(`Bearer ${this.#token}`);

  private constructor(options: PublishEndpointOptions) {
    this.#options = options;
    // With node:crypto below it takes 30 ms and 13 MB on Node 24, which only those with a module of their own shall pay.
    const { createServer } = process.getBuiltinModule('node:http');
    this.#server = createServer((request, response) => void this.#answer(request, response));
    // Clients that pool connections would run into the close of an idle one.
    this.#server.keepAliveTimeout = 0;
  }

  static async start(options: PublishEndpointOptions): Promise<PublishEndpoint> {
    const endpoint = new PublishEndpoint(options);
    endpoint.#server.listen(0, '127.0.0.1');
    await once(endpoint.#server, 'listening');
    return endpoint;
  }

  /** Variables for the command. The token must not be logged. */
  get environment(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return { UWSRP_PUBLISH_URL: `http://127.0.0.1:${port}/publish`, UWSRP_PUBLISH_TOKEN: this.#token };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { timingSafeEqual } = process.getBuiltinModule('node:crypto');
    // The name of the scheme is in any case (RFC 9110 section 11.1).
    const given = (request.headers.authorization ?? '').replace(/^bearer /i, 'Bearer ');
    if (!timingSafeEqual(digest(given), this.#wanted)) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      return end(response, 401, 'the token of UWSRP_PUBLISH_TOKEN is missing or wrong');
    }
    const [, path, query] = /^([^?]*)\??(.*)$/.exec(request.url ?? '')!;
    if (path !== '/publish') return end(response, 404, 'the path is that of UWSRP_PUBLISH_URL');
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      return end(response, 405, 'the method is POST');
    }
    try {
      const body = await readBody(request, this.#options.maxBytes);
      if (body === undefined) return end(response, 413, 'the body is larger than UWSRP_WS_MAX_MESSAGE');
      this.#publish(readPublications(query!, request.headers['content-type'], body));
      response.writeHead(204).end();
    } catch (error) {
      if (error instanceof BadPublication) end(response, 400, error.message);
      // Anything else is a client that left in the middle of its body.
      else response.destroy();
    }
  }

  #publish(publications: readonly Publication[]): void {
    for (const { topic, message } of publications) this.#options.publish(topic, message);
  }
}

/** Node reads what is left of the body, so that the client reads the answer. */
function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${text}\n`);
}

/** Undefined when it is too large; it is kept no longer then. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** Digests have one length, and tell nothing of how much was right. */
function digest(text: string): Buffer {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest();
}
