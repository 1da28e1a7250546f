import { type Connect, PeerSocket } from './peer.ts';
import { Queue } from './queue.ts';
import { withTimeout } from './timeout.ts';

/** What another process (test/fixtures/peers) tells of a socket of its, in JSON. */
interface RemoteEvent {
  readonly event: 'open' | 'refused' | 'message' | 'pong' | 'close' | 'listening';
  readonly id: string;
  readonly port: number;
  readonly protocol: string;
  readonly extensions: string;
  readonly why: string;
  readonly text?: string;
  readonly base64: string;
  readonly code: number;
  readonly reason: string;
}

interface Pending {
  resolve(socket: PeerSocket): void;
  reject(error: Error): void;
}

/** The sockets of a peer in another process, which takes commands and tells events in JSON. */
export class RemotePeer {
  /** Those that were opened from the other side. */
  readonly opened = new Queue<PeerSocket>('a socket of the other process');
  readonly ports = new Queue<number>('the port of the other process');
  readonly #post: (json: string) => void;
  readonly #canFragmentAndPing: boolean;
  readonly #pending = new Map<string, Pending>();
  readonly #sockets = new Map<string, PeerSocket>();
  #count = 0;

  constructor(post: (json: string) => void, canFragmentAndPing: boolean) {
    this.#post = post;
    this.#canFragmentAndPing = canFragmentAndPing;
  }

  readonly connect: Connect = (url, { protocols = [], compression = false } = {}) => {
    this.#count += 1;
    const id = String(this.#count);
    const opened = new Promise<PeerSocket>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.#command('connect', { id, url, protocols, compression });
    return withTimeout(opened, `the other process to open ${url}`);
  };

  /** To be called with each event as it comes. */
  hear(json: string): void {
    const event = JSON.parse(json) as RemoteEvent;
    const { id } = event;
    const socket = this.#sockets.get(id);
    if (event.event === 'listening') this.ports.push(event.port);
    if (event.event === 'open') this.#onOpen(event);
    if (event.event === 'refused') this.#pending.get(id)?.reject(new Error(`refused: ${event.why}`));
    if (event.event === 'message') socket!.messages.push(event.text ?? Buffer.from(event.base64, 'base64'));
    if (event.event === 'pong') socket!.pongs.push();
    if (event.event === 'close') socket!.closes.push({ code: event.code, reason: event.reason });
  }

  #onOpen({ id, protocol, extensions }: RemoteEvent): void {
    const more = {
      sendFragments: (text: string) => this.#command('fragments', { id, text }),
      ping: () => this.#command('ping', { id }),
    };
    const actions = {
      send: (data: string | Buffer) =>
        this.#command('send', {
          id,
          ...(typeof data === 'string' ? { text: data } : { base64: data.toString('base64') }),
        }),
      close: (code: number, reason: string) => this.#command('close', { id, code, reason }),
      ...(this.#canFragmentAndPing ? more : {}),
    };
    const socket = new PeerSocket(actions, protocol, extensions);
    this.#sockets.set(id, socket);
    const pending = this.#pending.get(id);
    if (pending === undefined) this.opened.push(socket);
    else pending.resolve(socket);
  }

  #command(action: string, fields: Readonly<Record<string, unknown>>): void {
    this.#post(JSON.stringify({ do: action, ...fields }));
  }
}
