import type { Config } from '../config/config.ts';
import { isForwardedField } from './forwarded-headers.ts';
import { isHopByHop } from './hop-by-hop.ts';
import { isSpoofableField } from './spoofable-fields.ts';

export type RequestFieldsConfig = Pick<Config, 'clientIpHeader' | 'requestId'>;

/**
 * Makes the test whether a field of the client's request, its name in lower case, goes on to the app as it is. Left
 * out are the hop-by-hop fields, those that forwarded-headers.ts and request-id.ts write anew, `Expect` (uWebSockets.js has answered
 * it), `Proxy` (CGI-like apps read it as HTTP_PROXY, CVE-2016-5385), disguised spellings, and from a peer that is not
 * trusted what only a router may say, the field of `UWSRP_CLIENT_IP_HEADER` among it.
 *
 * Fields that `Connection` names are the caller's to leave out (hop-by-hop.ts).
 */
export function createRequestFields(config: RequestFieldsConfig): (name: string, isTrusted: boolean) => boolean {
  const { clientIpHeader, requestId } = config;
  return (name, isTrusted) => {
    if (isHopByHop(name) || isForwardedField(name)) return false;
    if (name === 'expect' || name === 'proxy' || (requestId && name === 'x-request-id')) return false;
    if (!isTrusted && (isSpoofableField(name) || name === clientIpHeader)) return false;
    return !isDisguised(name, clientIpHeader);
  };
}

/**
 * Whether a name with an underscore would become, in an app of the CGI kind (WSGI, Rack, PHP), a field that we set,
 * vouch for or take out: those turn both `X_Forwarded_For` and `X-Forwarded-For` into `HTTP_X_FORWARDED_FOR`. Routers
 * pass such spellings on, so they are dropped whoever sent them. Other names with underscores pass.
 */
function isDisguised(name: string, clientIpHeader: string | undefined): boolean {
  if (!name.includes('_')) return false;
  const meant = name.replaceAll('_', '-');
  return isHopByHop(meant) || isForwardedField(meant) || isSpoofableField(meant) || isCore(meant, clientIpHeader);
}

function isCore(name: string, clientIpHeader: string | undefined): boolean {
  switch (name) {
    case 'content-length':
    case 'x-request-id':
    case clientIpHeader:
      return true;
    default:
      return false;
  }
}
