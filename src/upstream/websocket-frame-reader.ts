import { isUtf8 } from 'node:buffer';
import { SpareMemory } from './spare-memory.ts';
import {
  BINARY,
  CLOSE,
  CONTINUATION,
  INVALID_DATA,
  isCloseCode,
  MAX_CONTROL_PAYLOAD,
  MESSAGE_TOO_BIG,
  PING,
  PONG,
  PROTOCOL_ERROR,
  TEXT,
} from './websocket-frame.ts';

/** Receives what a server sends. Buffers are views that are only valid during the call: copy what is to be kept. */
export interface FrameSink {
  message(data: Buffer, isBinary: boolean): void;
  ping(payload: Buffer): void;
  pong(payload: Buffer): void;
  /** The peer's close frame; `code` is undefined when it was empty. Nothing follows. */
  closeFrame(code: number | undefined, reason: Buffer): void;
  /** The peer broke the protocol; `code` is what to close with (1002, 1007 or 1009). Nothing follows. */
  violation(code: number, why: string): void;
}

/** Longest header of an unmasked frame: two bytes and a 64-bit length. */
const MAX_HEADER = 10;

/** What the first growth of a fragmented message makes room for. */
const MIN_MESSAGE_BYTES = 1024;

const NOTHING: Buffer = Buffer.alloc(0);

/** For frames that were cut, of all readers: once such a frame is handled nobody looks at it any more. */
const cutFrames = new SpareMemory();

/**
 * Reads the frames of a server (unmasked, RFC 6455 section 5) from pieces of any size. A message that lies whole in
 * one piece is handed on as a view of it, uncopied; only a frame cut by the end of a piece, and the parts of a
 * fragmented message, are copied. No message, whole or in fragments, grows beyond `maxMessageBytes`, and memory is
 * bounded by the bytes of the message, not by the number of its fragments. No extension was offered, so every RSV bit
 * is an error. A length need not have its shortest form: the frame is written anew for the next hop anyway.
 */
export class WebSocketFrameReader {
  readonly #sink: FrameSink;
  readonly #maxMessageBytes: number;
  #isDone = false;

  /** Of the frame measured last. */
  #headerBytes = 0;

  /** A frame whose end has not come yet, and how much of it has. In memory of its own: it may have to wait for long. */
  #partial = NOTHING;
  #partialBytes = 0;

  /** Opcode of a message in fragments (0: none is under way), and what has come of it. */
  #fragmentOpcode = 0;
  #fragments = NOTHING;
  #fragmentBytes = 0;

  constructor(sink: FrameSink, maxMessageBytes: number) {
    this.#sink = sink;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Reads no further: what still comes is dropped. */
  stop(): void {
    this.#isDone = true;
    this.#partial = NOTHING;
    this.#partialBytes = 0;
    this.#fragments = NOTHING;
    this.#fragmentBytes = 0;
  }

  /** Whether the first `length` bytes are one frame, no more and no less: then there is nothing to batch. */
  isOneFrame(bytes: Buffer, length: number): boolean {
    if (this.#partialBytes > 0 || length < 2) return false;
    const size = bytes[1]!;
    if (size < 126) return length === size + 2;
    return size === 126 && length >= 4 && length === ((bytes[2]! << 8) | bytes[3]!) + 4;
  }

  /** Takes the first `length` bytes of the buffer, which may be reused after the call. */
  read(bytes: Buffer, length: number): void {
    let offset = this.#partialBytes > 0 ? this.#completePartial(bytes, length) : 0;
    while (offset < length && !this.#isDone) {
      const available = length - offset;
      const size = this.#measure(bytes, offset, available);
      if (this.#isDone) return;
      if (size === 0 || size > available) {
        this.#keepPartial(bytes, offset, length, size);
        return;
      }
      this.#frame(bytes, offset, size);
      offset += size;
    }
  }

  /** Adds to the frame that was cut, handles it when it is whole, and gives how many bytes that took. */
  #completePartial(bytes: Buffer, length: number): number {
    let offset = 0;
    let size = this.#measure(this.#partial, 0, this.#partialBytes);
    while (size === 0 && offset < length) {
      this.#partial[this.#partialBytes++] = bytes[offset++]!;
      size = this.#measure(this.#partial, 0, this.#partialBytes);
      if (this.#isDone) return length;
    }
    if (size === 0) return offset;
    if (this.#partial.length < size) this.#partial = copyInto(cutFrames.take(size), this.#partial, this.#partialBytes);
    const taken = Math.min(size - this.#partialBytes, length - offset);
    bytes.copy(this.#partial, this.#partialBytes, offset, offset + taken);
    this.#partialBytes += taken;
    if (this.#partialBytes < size) return length;

    const frame = this.#partial;
    this.#partial = NOTHING;
    this.#partialBytes = 0;
    this.#frame(frame, 0, size);
    cutFrames.giveBack(frame);
    return offset + taken;
  }

  #keepPartial(bytes: Buffer, offset: number, length: number, size: number): void {
    this.#partial = cutFrames.take(Math.max(size, MAX_HEADER));
    this.#partialBytes = bytes.copy(this.#partial, 0, offset, length);
  }

  /** Checks the header as far as it is there, and gives the size of the frame; 0 as long as that is not known. */
  #measure(bytes: Buffer, offset: number, available: number): number {
    if (available < 2) return 0;
    const first = bytes[offset]!;
    const second = bytes[offset + 1]!;
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    if ((first & 0x70) !== 0) return this.#violation(PROTOCOL_ERROR, 'a reserved bit is set');
    if ((second & 0x80) !== 0) return this.#violation(PROTOCOL_ERROR, 'a frame of the server is masked');

    let payload = second;
    let header = 2;
    if (opcode >= CLOSE) {
      if (opcode > PONG) return this.#violation(PROTOCOL_ERROR, `opcode ${opcode} is reserved`);
      if (!isFinal) return this.#violation(PROTOCOL_ERROR, 'a control frame is fragmented');
      if (payload > MAX_CONTROL_PAYLOAD) return this.#violation(PROTOCOL_ERROR, 'a control frame is too long');
    } else {
      if (opcode > BINARY) return this.#violation(PROTOCOL_ERROR, `opcode ${opcode} is reserved`);
      if ((opcode === CONTINUATION) !== (this.#fragmentOpcode !== 0)) {
        const why = opcode === CONTINUATION ? 'a continuation has no beginning' : 'a message begins within another';
        return this.#violation(PROTOCOL_ERROR, why);
      }
      if (payload === 126) {
        if (available < 4) return 0;
        header = 4;
        payload = bytes.readUInt16BE(offset + 2);
      } else if (payload === 127) {
        if (available < MAX_HEADER) return 0;
        header = MAX_HEADER;
        const high = bytes.readUInt32BE(offset + 2);
        if (high >= 0x80000000) return this.#violation(PROTOCOL_ERROR, 'a length has its highest bit set');
        payload = high * 0x100000000 + bytes.readUInt32BE(offset + 6);
      }
      if (payload + this.#fragmentBytes > this.#maxMessageBytes) {
        return this.#violation(MESSAGE_TOO_BIG, `a message is longer than ${this.#maxMessageBytes} bytes`);
      }
    }
    this.#headerBytes = header;
    return header + payload;
  }

  /** Handles one whole frame, measured just before. */
  #frame(bytes: Buffer, offset: number, size: number): void {
    const opcode = bytes[offset]! & 0x0f;
    const isFinal = (bytes[offset]! & 0x80) !== 0;
    const payload = bytes.subarray(offset + this.#headerBytes, offset + size);
    if (opcode >= CLOSE) this.#control(opcode, payload);
    else if (isFinal && opcode !== CONTINUATION) this.#message(payload, opcode);
    else this.#fragment(payload, opcode, isFinal);
  }

  #fragment(payload: Buffer, opcode: number, isFinal: boolean): void {
    this.#addFragment(payload);
    if (opcode !== CONTINUATION) this.#fragmentOpcode = opcode;
    if (!isFinal) return;
    const message = this.#fragments.subarray(0, this.#fragmentBytes);
    const type = this.#fragmentOpcode;
    this.#fragments = NOTHING;
    this.#fragmentBytes = 0;
    this.#fragmentOpcode = 0;
    this.#message(message, type);
  }

  #message(data: Buffer, opcode: number): void {
    if (opcode === TEXT && !isUtf8(data)) this.#violation(INVALID_DATA, 'a text message is not UTF-8');
    else this.#sink.message(data, opcode === BINARY);
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.#sink.ping(payload);
    else if (opcode === PONG) this.#sink.pong(payload);
    else this.#close(payload);
  }

  #close(payload: Buffer): void {
    if (payload.length === 0) {
      this.stop();
      this.#sink.closeFrame(undefined, payload);
      return;
    }
    const code = payload.length === 1 ? 0 : payload.readUInt16BE(0);
    const reason = payload.subarray(2);
    if (!isCloseCode(code)) this.#violation(PROTOCOL_ERROR, 'a close frame has no valid code');
    else if (!isUtf8(reason)) this.#violation(INVALID_DATA, 'the reason of a close frame is not UTF-8');
    else {
      this.stop();
      this.#sink.closeFrame(code, reason);
    }
  }

  /** Grows by doubling: a list of fragments would cost more than the bytes, when they come one by one. */
  #addFragment(payload: Buffer): void {
    const needed = this.#fragmentBytes + payload.length;
    if (needed > this.#fragments.length) {
      const room = Math.min(Math.max(needed, 2 * this.#fragments.length, MIN_MESSAGE_BYTES), this.#maxMessageBytes);
      this.#fragments = copyInto(Buffer.allocUnsafeSlow(room), this.#fragments, this.#fragmentBytes);
    }
    payload.copy(this.#fragments, this.#fragmentBytes);
    this.#fragmentBytes = needed;
  }

  #violation(code: number, why: string): 0 {
    this.stop();
    this.#sink.violation(code, why);
    return 0;
  }
}

function copyInto(target: Buffer, source: Buffer, length: number): Buffer {
  source.copy(target, 0, 0, length);
  return target;
}
