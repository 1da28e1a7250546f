import { isUtf8 } from 'node:buffer';

/** A message for the subscribers of a topic: bytes go out as a binary frame, text as a text frame. */
export interface Publication {
  readonly topic: string;
  readonly message: string | Buffer;
}

/** A surrogate without its other half, which JSON can write. */
const HALF_PAIR = /\p{Surrogate}/u;

/** What was sent to the publish endpoint cannot be published; the message is for the one who sent it. */
export class BadPublication extends Error {}

/**
 * Reads one request to the publish endpoint: the topic of the query with the body as it is, or one JSON object with
 * `topic` and `message` in each line of `application/x-ndjson`. All of it is good, or nothing is published.
 *
 * @throws BadPublication
 */
export function readPublications(query: string, contentType: string | undefined, body: Buffer): readonly Publication[] {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  const isBinary = type === 'application/octet-stream';
  // Clients close a WebSocket whose text is not UTF-8 (RFC 6455 section 8.1).
  if (!isBinary && !isUtf8(body)) {
    throw new BadPublication('the body is not UTF-8 (send bytes as application/octet-stream)');
  }
  if (type === 'application/x-ndjson') return readLines(body.toString());
  const topics = topicsOf(query);
  const [topic] = topics;
  if (topic === undefined || topic === '' || topics.length > 1) {
    throw new BadPublication('one topic is needed in the query: ?topic=name');
  }
  return [{ topic, message: isBinary ? body : body.toString() }];
}

/** What is no UTF-8 would become another topic, without a word. */
function topicsOf(query: string): string[] {
  try {
    decodeURIComponent(query);
  } catch {
    throw new BadPublication('the query is not percent-encoded UTF-8: ?topic=100%25');
  }
  return new URLSearchParams(query).getAll('topic');
}

function readLines(text: string): Publication[] {
  const publications: Publication[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const { topic, message } = parseLine(line, index + 1);
    if (typeof topic !== 'string' || topic === '' || typeof message !== 'string') {
      throw new BadPublication(`line ${index + 1}: {"topic": "name", "message": "text"} is needed`);
    }
    if (HALF_PAIR.test(topic) || HALF_PAIR.test(message)) {
      throw new BadPublication(`line ${index + 1}: half of a surrogate pair cannot be sent as UTF-8`);
    }
    publications.push({ topic, message });
  }
  return publications;
}

function parseLine(line: string, number: number): { topic?: unknown; message?: unknown } {
  try {
    return Object(JSON.parse(line));
  } catch {
    throw new BadPublication(`line ${number} is not JSON`);
  }
}
