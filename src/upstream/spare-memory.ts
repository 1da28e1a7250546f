/** Below this new memory costs little. */
const MIN_SPARE_BYTES = 16 * 1024;
/** What is kept when nothing is in use. */
const MAX_SPARE_BYTES = 512 * 1024;

const NONE = Buffer.alloc(0);

/**
 * Memory for large things that are needed one after the other. A buffer of its own for each would have to be cleared by
 * the kernel, and would lie about until the garbage collector comes.
 */
export class SpareMemory {
  #spare: Buffer = NONE;

  /** A buffer of `size` bytes, or up to twice as many, with anything in it. */
  take(size: number): Buffer {
    const spare = this.#spare;
    if (spare.length < size || spare.length > 2 * size) return Buffer.allocUnsafeSlow(size);
    this.#spare = NONE;
    return spare;
  }

  /** Nobody looks at the buffer any more. */
  giveBack(memory: Buffer): void {
    if (memory.length >= MIN_SPARE_BYTES && memory.length <= MAX_SPARE_BYTES) this.#spare = memory;
  }
}
