import { record } from './record.ts';

class Metric {
  readonly #values: (number | boolean)[];

  constructor(name: string) {
    this.#values = record.metrics[name] = [];
  }

  add(value: number | boolean): void {
    this.#values.push(value);
  }
}

export { Metric as Rate, Metric as Trend };
