import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { watchSignals } from '../../../src/supervisor/stop-signals.ts';

function watch() {
  const source = new EventEmitter();
  const seen: string[] = [];
  const clock = { ms: 5000 };
  const unwatch = watchSignals(
    {
      onStop: (signal) => seen.push(`stop ${signal}`),
      onKill: (signal) => seen.push(`kill ${signal}`),
      onHangup: () => seen.push('hangup'),
      passOn: (signal) => seen.push(`pass on ${signal}`),
    },
    source,
    () => clock.ms,
  );
  const send = (signal: string) => source.emit(signal, signal);
  return { source, seen, clock, send, unwatch };
}

test('the first SIGTERM or SIGINT is a stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const { seen, send } = watch();
    send(signal);
    assert.deepEqual(seen, [`stop ${signal}`]);
  }
});

test('more of them within a second of the first are the same stop', () => {
  const { seen, send, clock } = watch();
  send('SIGTERM');
  send('SIGTERM');
  clock.ms += 1000;
  send('SIGINT');
  assert.deepEqual(seen, ['stop SIGTERM']);
});

test('one after more than a second kills, also when there was another within the second', () => {
  const { seen, send, clock } = watch();
  send('SIGTERM');
  clock.ms += 900;
  send('SIGTERM');
  clock.ms += 101;
  send('SIGINT');
  assert.deepEqual(seen, ['stop SIGTERM', 'kill SIGINT']);
});

test('other signals are for the command; SIGHUP is for the logs too', () => {
  const { seen, send } = watch();
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH', 'SIGHUP']) send(signal);
  assert.deepEqual(seen, [
    'pass on SIGUSR1',
    'pass on SIGUSR2',
    'pass on SIGQUIT',
    'pass on SIGWINCH',
    'hangup',
    'pass on SIGHUP',
  ]);
});

test('leaves no listener behind', () => {
  const { source, unwatch } = watch();
  assert.ok(source.eventNames().length > 0);
  unwatch();
  assert.deepEqual(source.eventNames(), []);
});
