import type { TestContext } from 'node:test';
import { Queue } from './queue.ts';
import type { Closed } from './websocket-app.ts';

/** A WebSocket library that is none of our making, as a client. */
export interface ClientPeer {
  readonly name: string;
  /** What a rejection says when the app answers 403. */
  readonly refusal: RegExp;
  /** Makes it ready to connect, until the end of the test; `page` is what a browser opens first. */
  start(t: TestContext, page: string): Promise<Connect>;
}

/** Opens a socket, or rejects when the app refuses. */
export type Connect = (url: string, options?: ConnectOptions) => Promise<PeerSocket>;

export interface ConnectOptions {
  readonly protocols?: readonly string[];
  /** Whether it offers permessage-deflate, if it has a choice. */
  readonly compression?: boolean;
}

/** The same as an app, which knows the subprotocol `second` and answers 403 on `/refused`. */
export interface AppPeer {
  readonly name: string;
  start(t: TestContext): Promise<RunningApp>;
}

export interface RunningApp {
  readonly port: number;
  /** The next socket that was opened. */
  readonly opened: Queue<PeerSocket>;
}

/** What a peer can be told to do with a socket. */
export interface PeerActions {
  send(data: string | Buffer): void;
  close(code: number, reason: string): void;
  /** Sends one message in several frames; only where the peer can. */
  sendFragments?(text: string): void;
  /** Only where the peer can. */
  ping?(): void;
}

/** One open socket of a peer, the same to look at whatever the peer is. */
export class PeerSocket {
  /** Empty for none. */
  readonly protocol: string;
  /** The extensions that were agreed on, as the peer writes them; empty for none. */
  readonly extensions: string;
  readonly actions: PeerActions;
  /** Text as a string, binary as a Buffer. */
  readonly messages = new Queue<string | Buffer>('a message');
  readonly pongs = new Queue<void>('a pong');
  readonly closes = new Queue<Closed>('the close');

  constructor(actions: PeerActions, protocol: string, extensions = '') {
    this.actions = actions;
    this.protocol = protocol;
    this.extensions = extensions;
  }
}
