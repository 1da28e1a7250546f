import { atTurnEnd } from './turn-end.ts';

let monotonicMs = -1;
let dateMs = -1;

const clocks = {
  onTurnEnd() {
    monotonicMs = -1;
    dateMs = -1;
  },
};

/**
 * Milliseconds of `performance.now()`, read once in a turn of the event loop: right for deadlines and for what a request
 * took, and free where many requests come at once.
 */
export function turnNow(): number {
  if (monotonicMs < 0) {
    atTurnEnd(clocks);
    monotonicMs = performance.now();
  }
  return monotonicMs;
}

/** Whole milliseconds since 1970, read once in a turn. */
export function turnDate(): number {
  if (dateMs < 0) {
    atTurnEnd(clocks);
    dateMs = Date.now();
  }
  return dateMs;
}
