import type { Message } from './pub-sub.ts';

/** A message on its way between processes. */
export interface Envelope extends Message {
  /** The process that published it: 32 hexadecimal digits. */
  readonly sender: string;
  /** Counts the sender's messages from 1. */
  readonly sequence: number;
}

// version (1) | sender (16) | sequence (6) | flags (1) | length of the topic (4) | topic | data
const VERSION = 1;
const SENDER_AT = 1;
const SEQUENCE_AT = 17;
const FLAGS_AT = 23;
const TOPIC_LENGTH_AT = 24;
const HEAD_BYTES = 28;
const BINARY = 1;

export function encodeEnvelope({ sender, sequence, topic, data, isBinary }: Envelope): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + topicBytes + data.length);
  bytes[0] = VERSION;
  bytes.write(sender, SENDER_AT, 'hex');
  bytes.writeUIntBE(sequence, SEQUENCE_AT, 6);
  bytes[FLAGS_AT] = isBinary ? BINARY : 0;
  bytes.writeUInt32BE(topicBytes, TOPIC_LENGTH_AT);
  bytes.write(topic, HEAD_BYTES);
  bytes.set(data, HEAD_BYTES + topicBytes);
  return bytes;
}

/** Undefined for what is no envelope: anybody may publish on a channel of Redis. */
export function tryDecodeEnvelope(bytes: Buffer): Envelope | undefined {
  if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) return undefined;
  const dataAt = HEAD_BYTES + bytes.readUInt32BE(TOPIC_LENGTH_AT);
  if (dataAt > bytes.length) return undefined;
  return {
    sender: bytes.toString('hex', SENDER_AT, SEQUENCE_AT),
    sequence: bytes.readUIntBE(SEQUENCE_AT, 6),
    isBinary: bytes[FLAGS_AT] === BINARY,
    topic: bytes.toString('utf8', HEAD_BYTES, dataAt),
    data: bytes.subarray(dataAt),
  };
}
