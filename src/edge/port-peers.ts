/** More than one peer was seen there. */
const SEVERAL = '';

/**
 * Which peer is behind a port of the other side, for ports that only one peer has ever used. To ask the kernel for a
 * peer's address costs as much as all the rest that is read of a small request; its port is cheaper, and behind one router, one
 * bridge or one sidecar it says the same. Nothing is ever forgotten, since the end of a connection is not told for
 * sure: a port that a second peer has used gives no answer any more.
 */
export class PortPeers {
  readonly #peers = new Map<number, string>();

  /** Must hear of every connection, before its first request. */
  onOpen(port: number, peer: string): void {
    const known = this.#peers.get(port);
    if (known === undefined) this.#peers.set(port, peer);
    else if (known !== peer) this.#peers.set(port, SEVERAL);
  }

  /** Undefined when that is not known for sure. */
  peerOf(port: number): string | undefined {
    const peer = this.#peers.get(port);
    return peer === SEVERAL ? undefined : peer;
  }
}
