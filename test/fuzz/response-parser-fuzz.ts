import { isDeepStrictEqual } from 'node:util';
import { type ParsedResponse, type ParseOutcome, parseResponse } from '../helpers/parse-response.ts';
import { Random } from '../helpers/random.ts';
import { type GeneratedResponse, generateResponse } from './response-generator.ts';
import { type OracleResponse, readWithOracle } from './response-oracle.ts';
import { readStrictly } from './strict-reading.ts';

/** What a run saw, to prove that it was not a run of trivial cases. */
export interface FuzzCounts {
  cases: number;
  /** Accepted, by framing. */
  readonly accepted: Record<'length' | 'chunked' | 'close' | 'bodiless', number>;
  /** Accepted although it had been mutated. */
  acceptedMutated: number;
  /** Not complete when the connection ended. */
  cut: number;
  /** Refused, by reason. */
  readonly refused: Record<string, number>;
  /** Of these, what the other parser accepts. */
  readonly refusedAlone: Record<string, number>;
}

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  /** Number of the first case; default 0. */
  readonly first?: number;
}

/**
 * Generates responses and compares what ResponseParser makes of them with http-parser-js, which is more lenient: what
 * ours accepts, the other must understand in the same way. What ours refuses must be against the grammar, and what it
 * accepts must not. How the bytes are split into reads must not matter. Throws at the first difference, with the seed,
 * the case and the bytes.
 */
export function fuzzResponseParser({ seed, cases, first = 0 }: FuzzOptions): FuzzCounts {
  const counts: FuzzCounts = {
    cases: 0,
    accepted: { length: 0, chunked: 0, close: 0, bodiless: 0 },
    acceptedMutated: 0,
    cut: 0,
    refused: {},
    refusedAlone: {},
  };
  for (let index = first; index < first + cases; index += 1) {
    const random = new Random(Math.imul(seed ^ 0x5bd1e995, index + 1) + index);
    const generated = generateResponse(random);
    const difference = checkCase(random, generated, counts);
    if (difference === undefined) continue;
    throw new Error(
      `${difference}\nSEED=${seed} CASE=${index} npm run fuzz\n` +
        `${generated.isHeadRequest ? 'an answer to HEAD' : 'a response'}: ${JSON.stringify(generated.bytes)}`,
    );
  }
  return counts;
}

function checkCase(random: Random, generated: GeneratedResponse, counts: FuzzCounts): string | undefined {
  const { isHeadRequest, valid } = generated;
  const bytes = Buffer.from(generated.bytes, 'latin1');
  const outcome = parseResponse(bytes, { isHeadRequest });
  const oracle = readWithOracle(bytes, isHeadRequest);
  count(counts, generated, outcome, oracle !== undefined);

  for (const cuts of someCuts(random, bytes.length)) {
    const split = parseResponse(bytes, { isHeadRequest, cuts });
    // Which of several reasons is found first may depend on the reads.
    const isSame = 'refused' in outcome ? 'refused' in split : isDeepStrictEqual(split, outcome);
    if (!isSame) return `cut at ${cuts}: ${JSON.stringify(split)}\ninstead of ${JSON.stringify(outcome)}`;
  }
  if (valid !== undefined) {
    if (!('status' in outcome)) return `a valid response is not accepted: ${JSON.stringify(outcome)}`;
    const seen = { status: outcome.status, body: outcome.body, end: outcome.consumed };
    if (!isDeepStrictEqual(seen, valid))
      return `understood as ${JSON.stringify(seen)}\ninstead of ${JSON.stringify(valid)}`;
  }
  const strict = readStrictly(generated.bytes, isHeadRequest);
  if ('refused' in outcome) return strict === 'whole' ? `refuses a right response: ${outcome.refused}` : undefined;
  const expected = 'cut' in outcome ? 'incomplete' : 'whole';
  if (strict !== expected) return `is ${JSON.stringify(strict)} by the grammar: ${JSON.stringify(outcome)}`;
  if ('cut' in outcome) return oracle && `waits for more than there is: ${JSON.stringify(oracle)}`;
  if (oracle === undefined) return `accepts what the other parser refuses: ${JSON.stringify(outcome)}`;
  return compare(outcome, oracle);
}

function compare(ours: ParsedResponse, theirs: OracleResponse): string | undefined {
  const fields = ours.fields === '' ? [] : ours.fields.split('\r\n').map(splitField);
  const pairs: [what: string, ours: unknown, theirs: unknown][] = [
    ['status', ours.status, theirs.status],
    ['reason', ours.statusLine.slice(4), theirs.reason],
    ['fields', fields, endToEnd(theirs)],
    ['length', ours.contentLength, Number(theirs.headers.find(([name]) => /^content-length$/i.test(name))?.[1] ?? -1)],
    ['body', ours.body, theirs.body],
    ['end', ours.consumed, theirs.consumed],
    ['end by close', ours.isEndedByClose, theirs.isEndedByClose],
  ];
  for (const [what, our, their] of pairs) {
    if (!isDeepStrictEqual(our, their)) return `${what}: ours ${JSON.stringify(our)}\ntheirs ${JSON.stringify(their)}`;
  }
  const options = connectionOptions(theirs);
  const mayKeep = !options.includes('close') && (!theirs.isHttp10 || options.includes('keep-alive'));
  if (ours.keepAlive && (!mayKeep || theirs.isEndedByClose)) return 'keeps a connection that the app ends';
  return undefined;
}

function splitField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [
    line.slice(0, colon),
    line
      .slice(colon + 1)
      .replace(/^[\t ]+/, '')
      .replace(/[\t ]+$/, ''),
  ];
}

const LEFT_OUT = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
]);

/** The rule for what reaches the client, written a second time over the other parser's fields. */
function endToEnd(theirs: OracleResponse): (readonly [name: string, value: string])[] {
  const named = connectionOptions(theirs).filter((option) => option !== 'close');
  const isUpgradeRequired = theirs.status === 426 && theirs.headers.some(([name]) => name.toLowerCase() === 'upgrade');
  const kept = theirs.headers.filter(([name]) => {
    const key = name.toLowerCase();
    if (key === 'upgrade') return isUpgradeRequired;
    return !LEFT_OUT.has(key) && !named.includes(key);
  });
  return isUpgradeRequired ? [...kept, ['Connection', 'upgrade']] : kept;
}

function connectionOptions({ headers }: OracleResponse): string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((option) => option.replace(/^[\t ]+|[\t ]+$/g, ''));
}

/** A few random splits, and now and then every byte alone. */
function someCuts(random: Random, length: number): number[][] {
  if (length < 2) return [];
  const positions = Array.from({ length: random.between(1, 6) }, () => random.between(1, length - 1));
  const cuts = [[...new Set(positions)].sort((a, b) => a - b)];
  if (random.chance(1 / 32)) cuts.push(Array.from({ length: length - 1 }, (_, index) => index + 1));
  return cuts;
}

function count(
  counts: FuzzCounts,
  generated: GeneratedResponse,
  outcome: ParseOutcome,
  isOracleContent: boolean,
): void {
  counts.cases += 1;
  if ('refused' in outcome) {
    add(counts.refused, outcome.refused);
    if (isOracleContent) add(counts.refusedAlone, outcome.refused);
  } else if ('cut' in outcome) {
    counts.cut += 1;
  } else {
    counts.accepted[framingOf(generated, outcome)] += 1;
    if (generated.valid === undefined) counts.acceptedMutated += 1;
  }
}

function framingOf({ isHeadRequest }: GeneratedResponse, response: ParsedResponse): keyof FuzzCounts['accepted'] {
  if (isHeadRequest || response.status === 204 || response.status === 304) return 'bodiless';
  if (response.isEndedByClose) return 'close';
  return response.isChunked ? 'chunked' : 'length';
}

function add(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
