import type { IncomingRequest } from '../proxy/incoming-request.ts';
import type { Pipeline } from '../proxy/pipeline.ts';
import { parseRequestTarget } from '../proxy/request-target.ts';
import { createPeerAddress } from './peer-address.ts';
import type { PortPeers } from './port-peers.ts';
import type { HasRemotePort, HttpRequest, HttpResponse } from './uws.ts';

const PLAIN_TEXT = /^[\t\x20-\x7e]*$/;
const LATIN1_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Reads one uWebSockets.js request into what the rules need. There is one reader, used again for each request: what
 * it holds is good only until the next `read`, so nothing may keep it beyond the handler.
 */
export class RequestReader implements IncomingRequest {
  method = '';
  path = '';
  query: string | undefined;
  host = '';
  peer = '';
  /** The peer's port; 0 where uWebSockets.js does not tell it. */
  port = 0;
  readonly isTls = false;
  isTrusted = false;
  hostCount = 0;
  fields = '';
  headBytes = 0;
  isUnreadable = false;
  /**
   * uWebSockets.js closes the connection after the answer, and says nothing of it: that is how it reads `close`, and
   * any other first `Connection` line of five bytes.
   */
  isLast = false;

  forwardedFor: string | undefined;
  forwardedProto: string | undefined;
  forwardedHost: string | undefined;
  forwardedPort: string | undefined;
  realIp: string | undefined;
  requestStart: string | undefined;
  clientIp: string | undefined;
  connection: string | undefined;
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  expect: string | undefined;
  accept: string | undefined;
  requestId: string | undefined;
  upgrade: string | undefined;
  /** The subprotocols that a WebSocket client offers. */
  webSocketProtocol: string | undefined;

  readonly #pipeline: Pipeline;
  readonly #clientIpHeader: string | undefined;
  readonly #portPeers: PortPeers | undefined;
  readonly #peerAddress = createPeerAddress();
  #req: HttpRequest | undefined;
  /** Names whose first value's bytes were asked for already. */
  readonly #exactNames = new Set<string>();

  constructor(pipeline: Pipeline, clientIpHeader: string | undefined, portPeers: PortPeers | undefined) {
    this.#pipeline = pipeline;
    this.#clientIpHeader = clientIpHeader;
    this.#portPeers = portPeers;
  }

  read(res: HttpResponse, req: HttpRequest): void {
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.query = req.getQuery();
    this.peer = this.#readPeer(res);
    this.isTrusted = this.#pipeline.isTrusted(this.peer);
    this.host = '';
    this.hostCount = 0;
    this.fields = '';
    this.headBytes =
      this.method.length + this.path.length + (this.query === undefined ? 0 : this.query.length + 1) + 14;
    this.isUnreadable = false;
    this.isLast = false;
    this.forwardedFor = undefined;
    this.forwardedProto = undefined;
    this.forwardedHost = undefined;
    this.forwardedPort = undefined;
    this.realIp = undefined;
    this.requestStart = undefined;
    this.clientIp = undefined;
    this.connection = undefined;
    this.contentLength = undefined;
    this.transferEncoding = undefined;
    this.expect = undefined;
    this.accept = undefined;
    this.requestId = undefined;
    this.upgrade = undefined;
    this.webSocketProtocol = undefined;
    if (this.#exactNames.size > 0) this.#exactNames.clear();
    this.#req = req;
    req.forEach(this.#onField);
    this.#req = undefined;
    const { path, query } = this;
    const isPlain =
      path.charCodeAt(0) === 0x2f && PLAIN_TEXT.test(path) && (query === undefined || PLAIN_TEXT.test(query));
    if (!isPlain) this.#readUnusualTarget();
  }

  #readPeer(res: HttpResponse): string {
    if (this.#portPeers === undefined) return this.#peerAddress(res);
    this.port = (res as HttpResponse & HasRemotePort).getRemotePort();
    return this.#portPeers.peerOf(this.port) ?? this.#peerAddress(res);
  }

  readonly #onField = (name: string, text: string): void => {
    const value = PLAIN_TEXT.test(text) ? text : this.#exactValue(name, text);
    this.headBytes += name.length + value.length + 3;
    switch (name) {
      case 'host':
        this.host = value;
        this.hostCount += 1;
        return;
      case 'connection':
        if (this.connection === undefined) this.isLast = value.length === 5;
        this.connection = join(this.connection, value);
        return;
      case 'content-length':
        this.contentLength = join(this.contentLength, value);
        return;
      case 'transfer-encoding':
        this.transferEncoding = join(this.transferEncoding, value);
        return;
      case 'upgrade':
        this.upgrade = join(this.upgrade, value);
        return;
      case 'expect':
        this.expect = join(this.expect, value);
        return;
      case 'x-forwarded-for':
        this.forwardedFor = join(this.forwardedFor, value);
        return;
      case 'x-forwarded-proto':
        this.forwardedProto = join(this.forwardedProto, value);
        return;
      case 'x-forwarded-host':
        this.forwardedHost = join(this.forwardedHost, value);
        return;
      case 'x-forwarded-port':
        this.forwardedPort = join(this.forwardedPort, value);
        return;
      case 'x-request-start':
        this.requestStart = join(this.requestStart, value);
        return;
      case 'x-real-ip':
        this.realIp = join(this.realIp, value);
        break;
      case 'accept':
        this.accept = join(this.accept, value);
        break;
      case 'sec-websocket-protocol':
        this.webSocketProtocol = join(this.webSocketProtocol, value);
        break;
      case 'x-request-id':
        this.requestId = join(this.requestId, value);
        break;
    }
    if (name === this.#clientIpHeader) this.clientIp = join(this.clientIp, value);
    if (this.#pipeline.isForwardedAsItIs(name, this.isTrusted)) this.fields += `${name}: ${value}\r\n`;
  };

  /**
   * `forEach` decodes values as UTF-8, which loses bytes, and a char above U+00FF would become another byte on its way
   * to the app (U+010D would become CR). `getHeader` gives the bytes, but only of a name's first value; a later one is
   * exact only when it was valid UTF-8.
   */
  #exactValue(name: string, text: string): string {
    const first = this.#req!.getHeader(name);
    const isFirst = !this.#exactNames.has(name) && Buffer.from(first, 'latin1').toString('utf8') === text;
    this.#exactNames.add(name);
    const value = isFirst ? first : Buffer.from(text, 'utf8').toString('latin1');
    if (!LATIN1_TEXT.test(value) || (!isFirst && text.includes('\ufffd'))) this.isUnreadable = true;
    return value;
  }

  #readUnusualTarget(): void {
    const target = parseRequestTarget(this.path, this.query);
    if (target === undefined) {
      this.isUnreadable = true;
      return;
    }
    this.path = target.path;
    this.query = target.query;
    if (target.host !== undefined) {
      this.host = target.host;
      this.hostCount = Math.min(this.hostCount, 1);
    }
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
