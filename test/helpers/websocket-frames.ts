import type { Duplex } from 'node:stream';
import * as ws from 'ws';

export interface FrameOptions {
  readonly isFinal?: boolean;
  readonly isMasked?: boolean;
  /** The three reserved bits, as they stand in the first byte (0x40, 0x20, 0x10). */
  readonly reserved?: number;
  /** How the length is written: by default in the shortest form. */
  readonly lengthBytes?: 0 | 2 | 8;
}

/** One frame, byte by byte as RFC 6455 section 5.2 draws it; with a masking key that is not zero, if any. */
export function frame(opcode: number, payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const data = Buffer.from(payload as string);
  const { isFinal = true, isMasked = false, reserved = 0 } = options;
  const lengthBytes = options.lengthBytes ?? (data.length < 126 ? 0 : data.length < 65536 ? 2 : 8);
  const head = Buffer.alloc(2 + lengthBytes);
  head[0] = (isFinal ? 0x80 : 0) | reserved | opcode;
  const mask = isMasked ? 0x80 : 0;
  if (lengthBytes === 0) head[1] = mask | data.length;
  if (lengthBytes === 2) {
    head[1] = mask | 126;
    head.writeUInt16BE(data.length, 2);
  }
  if (lengthBytes === 8) {
    head[1] = mask | 127;
    head.writeBigUInt64BE(BigInt(data.length), 2);
  }
  if (!isMasked) return Buffer.concat([head, data]);
  const key = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
  const masked = Buffer.from(data);
  for (let index = 0; index < masked.length; index++) masked[index]! ^= key[index & 3]!;
  return Buffer.concat([head, key, masked]);
}

/** A frame as a client sends it. */
export function clientFrame(opcode: number, payload: string | Buffer, options: FrameOptions = {}): Buffer {
  return frame(opcode, payload, { ...options, isMasked: true });
}

export function closePayload(code: number, reason: string | Buffer = ''): Buffer {
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason as string)]);
}

/** What a stream of frames held. `code` comes with `close` (1005 for an empty one) and `error`. */
export interface FrameEvent {
  readonly kind: 'text' | 'binary' | 'ping' | 'pong' | 'close' | 'error';
  readonly data: Buffer;
  readonly code?: number;
}

/** The parser of `ws`, which has no types. */
const { Receiver } = ws as unknown as {
  Receiver: new (options: { isServer: boolean; maxPayload: number }) => Duplex;
};

/** Reads the bytes with the parser of `ws`: the second opinion on framing. */
export async function readWithWs(bytes: Buffer, isServer: boolean, maxPayload = 0): Promise<FrameEvent[]> {
  const events: FrameEvent[] = [];
  const receiver = new Receiver({ isServer, maxPayload });
  receiver.on('message', (data: Buffer, isBinary: boolean) =>
    events.push({ kind: isBinary ? 'binary' : 'text', data }),
  );
  receiver.on('ping', (data: Buffer) => events.push({ kind: 'ping', data }));
  receiver.on('pong', (data: Buffer) => events.push({ kind: 'pong', data }));
  receiver.on('conclude', (code: number, data: Buffer) => events.push({ kind: 'close', data, code }));
  await new Promise<void>((resolve) => {
    receiver.on('error', (error) => {
      const status = Object.getOwnPropertySymbols(error).find((symbol) => symbol.description === 'status-code')!;
      events.push({
        kind: 'error',
        data: Buffer.alloc(0),
        code: (error as unknown as Record<symbol, number>)[status]!,
      });
      resolve();
    });
    receiver.write(bytes, () => resolve());
  });
  return events;
}
