/**
 * The most of a body that goes to the app in one write: small enough to be still in the core's cache when it is sent,
 * and large enough not to wake the app again and again.
 */
export const PIECE_BYTES = 256 * 1024;

/** Room for a chunk's size and the two line ends around it. */
const FRAME_BYTES = 16;

/** A piece up to this size gets memory of its own size when it has to wait for the app. */
const SMALL_PIECE_BYTES = 64 * 1024;

/** Up to this size memory is taken from Node's pool of 8 KiB, where it holds little else. */
const POOLED_BYTES = 2 * 1024;

/** About what ten clients have on their way when they are held back. */
const MAX_FREE_BLOCKS = 16;

/** Where pieces go: one connection to the app. */
export interface PieceTarget {
  /** The bytes must stay as they are while `unwrittenBytes` is not 0. */
  write(bytes: Buffer): boolean;
  /** Bytes accepted by `write` that the kernel has not taken yet. */
  readonly unwrittenBytes: number;
}

// What is free, the block that was used last on top. New pages cost more than the copy, and an ArrayBuffer for each read
// makes the garbage collector run again and again, with megabytes of them waiting for it.
const free: Buffer[] = [];

/**
 * Copies of one body's bytes, since those of uWebSockets.js die with its callback. A block whose bytes the kernel took
 * at once is overwritten by the next piece; only what a slow app left unwritten keeps its own, until the app took that.
 */
export class UploadMemory {
  readonly #isChunked: boolean;
  /** Blocks that the kernel has not taken all of. */
  #inUse: Buffer[] = [];

  constructor(isChunked: boolean) {
    this.#isChunked = isChunked;
  }

  /** Sends a copy. False asks to wait for the target's drain. */
  send(target: PieceTarget, bytes: Uint8Array): boolean {
    this.reclaim(target);
    let isTaken = true;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      isTaken = this.#sendPiece(target, bytes.subarray(at, at + PIECE_BYTES));
    }
    return isTaken;
  }

  /** Looks whether the target has taken all that was sent. Blocks that are in use when a body is dropped are lost. */
  reclaim(target: PieceTarget): void {
    if (this.#inUse.length === 0 || target.unwrittenBytes > 0) return;
    for (const block of this.#inUse) giveBack(block);
    this.#inUse = [];
  }

  #sendPiece(target: PieceTarget, piece: Uint8Array): boolean {
    if (piece.length <= SMALL_PIECE_BYTES && target.unwrittenBytes > 0)
      return target.write(copyFramed(piece, this.#isChunked));
    const block = free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES + FRAME_BYTES);
    const isTaken = target.write(frameInto(block, piece, this.#isChunked));
    if (target.unwrittenBytes === 0) giveBack(block);
    else this.#inUse.push(block);
    return isTaken;
  }
}

/** A copy that may wait for as long as it has to, framed as the body is. */
export function copyFramed(bytes: Uint8Array, isChunked: boolean): Buffer {
  const length = isChunked ? bytes.length + FRAME_BYTES : bytes.length;
  return frameInto(
    length <= POOLED_BYTES ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length),
    bytes,
    isChunked,
  );
}

function frameInto(block: Buffer, bytes: Uint8Array, isChunked: boolean): Buffer {
  if (!isChunked) {
    block.set(bytes);
    return block.length === bytes.length ? block : block.subarray(0, bytes.length);
  }
  const start = block.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
  block.set(bytes, start);
  const end = start + bytes.length;
  return block.subarray(0, end + block.write('\r\n', end, 'latin1'));
}

function giveBack(block: Buffer): void {
  if (free.length < MAX_FREE_BLOCKS) free.push(block);
}
