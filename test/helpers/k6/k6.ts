import { record } from './record.ts';

export function check<T>(value: T, checks: Record<string, (value: T) => boolean>): boolean {
  const results = Object.entries(checks).map(([name, holds]) => ({ name, passed: holds(value) }));
  record.checks.push(...results);
  return results.every(({ passed }) => passed);
}

export function sleep(seconds: number): void {
  record.sleeps.push(seconds);
}
