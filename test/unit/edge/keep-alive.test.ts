import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { KeepAlive, type KeptConnection, keepAlivePolicy } from '../../../src/edge/keep-alive.ts';
import type { HttpResponse, TemplatedApp } from '../../../src/edge/uws.ts';

const base = { keepAlive: 'auto', keepAliveMax: 1024, platform: undefined } as const;

test('auto keeps connections where the build can, and closes above the limit behind a pooling router', () => {
  const kept = { closesAlways: false, closesWhenFull: false, keepsIdle: true };
  assert.deepEqual(keepAlivePolicy(base, true), kept);
  assert.deepEqual(keepAlivePolicy({ ...base, platform: 'kubernetes' }, true), kept);
  assert.deepEqual(keepAlivePolicy({ ...base, platform: 'heroku' }, true), { ...kept, closesWhenFull: true });
});

test('auto closes after each answer behind a pooling router where the build cannot keep connections', () => {
  assert.equal(keepAlivePolicy({ ...base, platform: 'heroku' }, false).closesAlways, true);
  assert.equal(keepAlivePolicy({ ...base, platform: 'heroku', keepAliveMax: 0 }, true).closesAlways, true);
  assert.equal(keepAlivePolicy({ ...base, platform: 'dokku' }, false).closesAlways, false);
  assert.equal(keepAlivePolicy(base, false).closesAlways, false);
});

test('on never closes by itself, off always does, whatever the platform and the build', () => {
  for (const isPossible of [true, false]) {
    for (const platform of ['heroku', undefined] as const) {
      const on = keepAlivePolicy({ ...base, platform, keepAlive: 'on' }, isPossible);
      assert.deepEqual(on, { closesAlways: false, closesWhenFull: false, keepsIdle: isPossible });
      const off = keepAlivePolicy({ ...base, platform, keepAlive: 'off' }, isPossible);
      assert.deepEqual(off, { closesAlways: true, closesWhenFull: false, keepsIdle: false });
    }
  }
});

/** What `getRemotePort` of uWebSockets.js gives for a connection that is closed, or reset by its peer. */
const CLOSED_PORT = 4294967295;

/** A connection as `app.filter` hands it over. It counts what would be memory corruption in the real one. */
class FakeSocket {
  readonly port: number;
  readonly #address: readonly number[];
  /** The peer has reset it: the kernel knows no peer any more, and uWebSockets.js has yet to hear of it. */
  isReset = false;
  isFreed = false;
  touches = 0;
  usesAfterFree = 0;

  constructor(port: number, address: readonly number[] = [10, 0, 0, 1]) {
    this.port = port;
    this.#address = address;
  }

  getRemotePort(): number {
    if (this.isFreed) this.usesAfterFree += 1;
    return this.isReset ? CLOSED_PORT : this.port;
  }

  getRemoteAddress(): ArrayBuffer {
    return new Uint8Array(this.isReset ? [] : this.#address).buffer;
  }

  pause(): void {
    if (this.isFreed) this.usesAfterFree += 1;
    this.touches += 1;
  }

  resume(): void {
    if (this.isFreed) this.usesAfterFree += 1;
  }
}

/** The part of uWebSockets.js that tells of connections, and the timer that touches them. */
function startKeepAlive(t: TestContext, maxConnections = 100) {
  let sweep: (() => void) | undefined;
  t.mock.method(globalThis, 'setInterval', (callback: () => void) => {
    sweep = callback;
    return { unref: () => callback };
  });
  t.mock.method(globalThis, 'clearInterval', () => {
    sweep = undefined;
  });
  let filter: (res: HttpResponse, count: number) => void = () => {};
  const app = {
    filter: (callback: typeof filter) => {
      filter = callback;
    },
  };
  const keepAlive = new KeepAlive(app as unknown as TemplatedApp, { timeoutMs: 60_000, maxConnections });
  t.after(() => keepAlive.stop());
  return {
    keepAlive,
    open: (socket: FakeSocket) => filter(socket as unknown as HttpResponse, 1),
    /** As in uWebSockets.js: the memory lives until the turn of the event loop is over. */
    close(socket: FakeSocket) {
      socket.isReset = true;
      filter({} as HttpResponse, -1);
    },
    request: (port: number, peer = '10.0.0.1'): KeptConnection | undefined => keepAlive.onRequest({ port, peer }),
    touch: () => sweep?.(),
  };
}

test('touches a connection once it is idle, and not while it has a request', (t) => {
  const { keepAlive, open, request, touch } = startKeepAlive(t);
  const socket = new FakeSocket(4000);
  open(socket);
  touch();
  assert.equal(socket.touches, 0);
  keepAlive.onIdle(request(4000)!);
  touch();
  assert.equal(socket.touches, 1);
  const kept = request(4000)!;
  touch();
  assert.equal(socket.touches, 1);
  keepAlive.onIdle(kept);
  touch();
  assert.equal(socket.touches, 2);
  keepAlive.forget(kept);
  touch();
  assert.equal(socket.touches, 2);
});

test('never touches a closed connection, whatever became of others at the same moment', (t) => {
  const { keepAlive, open, close, request, touch } = startKeepAlive(t);
  const sockets = Array.from({ length: 5 }, (_, index) => new FakeSocket(4000 + index));
  for (const socket of sockets) {
    open(socket);
    keepAlive.onIdle(request(socket.port)!);
  }
  const [first, second, third, fourth, fifth] = sockets as [FakeSocket, FakeSocket, FakeSocket, FakeSocket, FakeSocket];
  // A router that dies resets all of its connections; uWebSockets.js may hear of some in this turn, of others in the next.
  for (const socket of [first, second, fourth]) socket.isReset = true;
  close(second);
  second.isFreed = true;
  touch();
  close(fourth);
  fourth.isFreed = true;
  touch();
  close(first);
  first.isFreed = true;
  touch();
  assert.deepEqual(
    sockets.map((socket) => socket.usesAfterFree),
    [0, 0, 0, 0, 0],
  );
  assert.deepEqual([third.touches, fifth.touches], [3, 3]);
});

test('knows a closed connection also when its file number serves something else already', (t) => {
  const { keepAlive, open, close, request, touch } = startKeepAlive(t);
  const socket = new FakeSocket(4000);
  open(socket);
  keepAlive.onIdle(request(4000)!);
  // A name that another thread looks up right now.
  socket.getRemotePort = () => 53;
  close(socket);
  touch();
  assert.equal(socket.touches, 0);
});

test('does not take a connection for one that was reset before its port could be read', (t) => {
  const { keepAlive, open, close, request } = startKeepAlive(t);
  const early = new FakeSocket(4000);
  early.isReset = true;
  open(early);
  close(early);
  early.isFreed = true;
  // The next one has its request read, and is reset before its port is asked for.
  open(new FakeSocket(4001));
  assert.equal(request(CLOSED_PORT), undefined);
  assert.equal(keepAlive.peers.peerOf(CLOSED_PORT), undefined);
});

test('keeps connections of several peers on the same port apart', (t) => {
  const { keepAlive, open, close, request, touch } = startKeepAlive(t);
  const one = new FakeSocket(4000);
  const two = new FakeSocket(4000, [10, 0, 0, 2]);
  for (const socket of [one, two]) open(socket);
  keepAlive.onIdle(request(4000, '10.0.0.1')!);
  keepAlive.onIdle(request(4000, '10.0.0.2')!);
  close(one);
  one.isFreed = true;
  touch();
  assert.deepEqual([one.usesAfterFree, two.touches], [0, 1]);
  assert.equal(request(4000, '10.0.0.1'), undefined);
  assert.notEqual(request(4000, '10.0.0.2'), undefined);
});

test('remembers no more than a fixed number of connections that closed without a request', (t) => {
  const { keepAlive, open, close, request, touch } = startKeepAlive(t);
  const kept = new FakeSocket(65_535);
  open(kept);
  keepAlive.onIdle(request(kept.port)!);
  for (let count = 0; count < 70_000; count += 1) {
    const scanner = new FakeSocket(1 + (count % 60_000), [192, 0, 2, count % 251]);
    open(scanner);
    close(scanner);
    scanner.isFreed = true;
  }
  assert.ok(keepAlive.knownCount <= 65_536, `${keepAlive.knownCount} connections are known`);
  const late = new FakeSocket(65_534);
  open(late);
  assert.notEqual(request(late.port), undefined);
  // The oldest are left to uWebSockets.js, and stay untouched.
  touch();
  assert.equal(kept.touches, 0);
});
