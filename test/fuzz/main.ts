import { randomInt } from 'node:crypto';
import { fuzzResponseParser } from './response-parser-fuzz.ts';

// npm run fuzz. By environment: SEED (default: a random one), CASES (default: a million), CASE (only this one).

const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
const only = process.env.CASE;
const cases = only === undefined ? Number(process.env.CASES ?? 1_000_000) : 1;
console.log(`SEED=${seed} CASES=${cases}`);
console.log(fuzzResponseParser({ seed, cases, first: Number(only ?? 0) }));
