import { UwsrpError } from '../lib/errors.ts';
import { thrownText } from '../lib/thrown-text.ts';

/** What nothing caught, of a timer of the module, say. */
export function uncaughtError(error: unknown, hasModule = true): UwsrpError {
  const where = hasModule ? 'an error outside of a handler, most likely in UWSRP_WS_MODULE' : 'a fault of uwsrp';
  return new UwsrpError('INTERNAL', `${where}: ${thrownText(error)}`);
}
