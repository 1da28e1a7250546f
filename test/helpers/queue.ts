import { withTimeout } from './timeout.ts';

/** What happened and nobody has asked for yet, in order. */
export class Queue<T> {
  readonly #what: string;
  readonly #items: T[] = [];
  readonly #takers: ((item: T) => void)[] = [];

  constructor(what: string) {
    this.#what = what;
  }

  push(item: T): void {
    const take = this.#takers.shift();
    if (take === undefined) this.#items.push(item);
    else take(item);
  }

  /** The next one, also one that has come already. */
  async next(ms?: number): Promise<T> {
    if (this.#items.length > 0) return this.#items.shift()!;
    return withTimeout(new Promise<T>((resolve) => this.#takers.push(resolve)), this.#what, ms);
  }
}
