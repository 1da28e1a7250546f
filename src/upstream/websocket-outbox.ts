import { atTurnEnd, type TurnEndTask } from '../lib/turn-end.ts';
import { SpareMemory } from './spare-memory.ts';
import { MAX_CONTROL_PAYLOAD } from './websocket-frame.ts';

/** What frames are written to: one connection to the app. */
export interface FrameTarget {
  write(bytes: Buffer): void;
  /** Bytes accepted by `write` that the kernel has not taken yet. */
  readonly unwrittenBytes: number;
  /** Told after each write that left some unwritten. */
  fellBehind(): void;
}

const ARENA_BYTES = 64 * 1024;

/** A frame longer than this gets a buffer of its own: the arena is for those that are worth batching. */
const LARGE_FRAME_BYTES = 32 * 1024;

/** FIN is always set: a message is sent whole. */
const FINAL = 0x80;

const MASKED = 0x80;
const MASKING_KEY_BYTES = 4;

/**
 * Writes masked frames, as a client must (RFC 6455 section 5.3), to the sockets of all relays of this thread. They leave
 * at the end of the turn of the event loop, relay by relay (see `atTurnEnd`), those that one relay sent without another
 * in between in one write; payloads are copied at once, since uWebSockets.js takes its buffers back after the callback.
 *
 * The masking key is zero, so the payload goes as it is. Masking keeps a hostile page from choosing the bytes that a
 * browser puts on the wire, to fool a caching intermediary in between (sections 5.3 and 10.3). Here the browser's own
 * masking has done that on the way to us, and on the loopback or unix socket to the app there is no intermediary.
 *
 * One arena serves every relay: a segment that the kernel took at once is overwritten by the next one. Only what a
 * slow app left unwritten keeps its bytes, for as long as the socket holds on to them.
 */
export class WebSocketOutbox implements TurnEndTask {
  #arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
  readonly #large = new SpareMemory();
  /** Where the first segment begins. */
  #start = 0;
  #end = 0;
  /** Whom each segment is for, and where it ends. */
  #targets: FrameTarget[] = [];
  #ends: number[] = [];

  /** Queues one frame; it is written by the end of this turn of the event loop. */
  send(target: FrameTarget, opcode: number, payload: Uint8Array): void {
    const size = headerBytes(payload.length) + payload.length;
    if (size > LARGE_FRAME_BYTES) {
      this.#sendLarge(target, opcode, payload, size);
      return;
    }
    if (this.#end + size > ARENA_BYTES) this.#makeRoom(size);
    writeFrame(this.#arena, this.#end, opcode, payload);
    this.#end += size;
    const count = this.#targets.length;
    if (count > 0 && this.#targets[count - 1] === target) {
      this.#ends[count - 1] = this.#end;
    } else {
      this.#targets.push(target);
      this.#ends.push(this.#end);
      if (count === 0) atTurnEnd(this);
    }
  }

  onTurnEnd(): void {
    this.flush();
  }

  /** Writes what is queued, now. */
  flush(): void {
    if (this.#targets.length === 0) return;
    const targets = this.#targets;
    const ends = this.#ends;
    const arena = this.#arena;
    const first = this.#start;
    // A target that falls behind may be sent a close at once: it goes behind what is written here.
    this.#targets = [];
    this.#ends = [];
    this.#start = this.#end;
    let isHeld = false;
    let start = first;
    for (let index = 0; index < targets.length; index += 1) {
      if (writeSegment(targets[index]!, arena.subarray(start, ends[index]))) isHeld = true;
      start = ends[index]!;
    }
    if (isHeld || this.#targets.length > 0 || this.#arena !== arena) return;
    this.#start = first;
    this.#end = first;
  }

  #makeRoom(size: number): void {
    this.flush();
    if (this.#end + size <= ARENA_BYTES) return;
    // What lies below `start` is still on its way to slow apps: they keep the old arena alive.
    this.#arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
    this.#start = 0;
    this.#end = 0;
  }

  #sendLarge(target: FrameTarget, opcode: number, payload: Uint8Array, size: number): void {
    this.flush();
    const memory = this.#large.take(size);
    writeFrame(memory, 0, opcode, payload);
    target.write(memory.subarray(0, size));
    if (target.unwrittenBytes > 0) target.fellBehind();
    else this.#large.giveBack(memory);
  }
}

/** Whether the target holds on to the segment. */
function writeSegment(target: FrameTarget, segment: Buffer): boolean {
  const isBehind = target.unwrittenBytes > 0;
  // Behind a backlog the segment would hold the arena for long.
  target.write(isBehind ? copyOf(segment) : segment);
  if (target.unwrittenBytes === 0) return false;
  target.fellBehind();
  return !isBehind;
}

/** In memory of its own: a slice of Node's pool would keep 64 KiB alive for a few bytes. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function headerBytes(payloadBytes: number): number {
  if (payloadBytes <= MAX_CONTROL_PAYLOAD) return 2 + MASKING_KEY_BYTES;
  return payloadBytes <= 0xffff ? 4 + MASKING_KEY_BYTES : 10 + MASKING_KEY_BYTES;
}

function writeFrame(target: Buffer, offset: number, opcode: number, payload: Uint8Array): void {
  const length = payload.length;
  let at = offset;
  target[at++] = FINAL | opcode;
  if (length <= MAX_CONTROL_PAYLOAD) {
    target[at++] = MASKED | length;
  } else if (length <= 0xffff) {
    target[at++] = MASKED | 126;
    target[at++] = length >>> 8;
    target[at++] = length & 0xff;
  } else {
    target[at++] = MASKED | 127;
    at = target.writeUInt32BE(Math.floor(length / 0x100000000), at);
    at = target.writeUInt32BE(length >>> 0, at);
  }
  target[at++] = 0;
  target[at++] = 0;
  target[at++] = 0;
  target[at++] = 0;
  target.set(payload, at);
}
