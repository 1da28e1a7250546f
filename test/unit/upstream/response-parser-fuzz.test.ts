import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzResponseParser } from '../../fuzz/response-parser-fuzz.ts';

/** What http-parser-js lets pass. Nothing that is not listed here may be a reason to refuse what it accepts. */
const KNOWN_LENIENCIES = [
  'a chunk does not end in CRLF',
  'a chunk extension holds a control byte',
  'a chunk is longer than its size says',
  'a chunk size is not a hexadecimal number',
  'a chunk size is too large',
  'a chunk size line does not end in CRLF',
  'a header line ends without CR',
  'a header line is malformed',
  'a trailer line is malformed',
  'an interim response announces a body',
  'it does not begin with HTTP/1.',
  'it has a Transfer-Encoding in HTTP/1.0',
  'it has both Transfer-Encoding and Content-Length',
  'it has more than one Content-Length',
  'it has more than one Transfer-Encoding',
  'it switches protocols though nobody asked',
  'its Content-Length is not a number',
  'its Content-Length is too large',
  'its Transfer-Encoding is not "chunked"',
  'its status line is malformed',
];

test('100,000 responses, half of them broken, are understood as another parser and the grammar do', () => {
  const counts = fuzzResponseParser({ seed: 20_260_818, cases: 100_000 });
  assert.equal(counts.cases, 100_000);
  // Proof that the cases were of every kind, and that the broken ones were not all refused at once.
  for (const [framing, count] of Object.entries(counts.accepted)) assert.ok(count > 5000, `${count} of ${framing}`);
  assert.ok(counts.acceptedMutated > 5000, `${counts.acceptedMutated} accepted with a change`);
  assert.ok(counts.cut > 2000, `${counts.cut} cut`);
  assert.deepEqual(
    KNOWN_LENIENCIES.filter((reason) => (counts.refused[reason] ?? 0) < 5),
    [],
    'hardly ever refused for these',
  );
  assert.deepEqual(
    Object.keys(counts.refusedAlone).filter((reason) => !KNOWN_LENIENCIES.includes(reason)),
    [],
    'refused, accepted by the other parser, and not known',
  );
});

test('a case is decided by its seed and number alone', () => {
  const alone = Array.from({ length: 50 }, (_, index) => fuzzResponseParser({ seed: 5, cases: 1, first: index }));
  const together = fuzzResponseParser({ seed: 5, cases: 50 });
  const sum = (pick: (counts: typeof together) => number) => alone.reduce((total, each) => total + pick(each), 0);
  assert.equal(
    sum(({ accepted }) => accepted.chunked),
    together.accepted.chunked,
  );
  assert.equal(
    sum(({ cut }) => cut),
    together.cut,
  );
});
