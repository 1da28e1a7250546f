import type { Config } from '../config/config.ts';
import { randomBytes } from '../lib/random-bytes.ts';
import type { IncomingRequest } from './incoming-request.ts';

const ID_CHARS = 32;

/** A call for random bytes costs as much as all the rest of a small request, so one call makes this many ids. */
const IDS_AT_ONCE = 256;

/**
 * The chars of ids that routers make, less all that could end a value, a line or a string somewhere on the way: blanks,
 * quotes, brackets, backslash, and what is not ASCII. The longest one that Heroku's router takes has 200.
 */
const SAFE_ID = /^[A-Za-z0-9._~:;=+/@|,-]{1,200}$/;

/**
 * Makes the rule for `X-Request-Id` (`UWSRP_REQUEST_ID`): the client's, when there is one and it is safe, else a new
 * one; undefined when the variable is off. A field that was sent twice is not safe: its values are joined by a blank.
 * New ids are 128 random bits each, so that knowing some tells nothing of others, nor how many there were.
 */
export function createRequestId(
  config: Pick<Config, 'requestId'>,
): (request: Pick<IncomingRequest, 'requestId'>) => string | undefined {
  if (!config.requestId) return () => undefined;
  let supply = '';
  let position = 0;
  return ({ requestId }) => {
    if (requestId !== undefined && SAFE_ID.test(requestId)) return requestId;
    if (position === supply.length) {
      supply = randomBytes((IDS_AT_ONCE * ID_CHARS) / 2).toString('hex');
      position = 0;
    }
    position += ID_CHARS;
    return supply.slice(position - ID_CHARS, position);
  };
}
