import type { LocalAnswer } from '../proxy/local-answer.ts';
import type { Closing } from './response-relay.ts';
import type { HttpResponse } from './uws.ts';

/** Writes an answer of ours, whole. The response must not be touched afterwards. */
export function sendLocalAnswer(
  res: HttpResponse,
  answer: LocalAnswer,
  isHeadRequest: boolean,
  closing: Closing,
): void {
  res.cork(() => {
    res.writeStatus(answer.statusLine);
    for (const [name, value] of answer.fields) res.writeHeader(name, Buffer.from(value, 'latin1'));
    if (isHeadRequest) {
      // endWithoutBody(length) leaves the response pending on the older build.
      res.writeHeader('Content-Length', `${answer.body.length}`);
      if (closing !== 'no') res.writeHeader('Connection', 'close');
      res.endWithoutBody();
    } else {
      if (closing === 'asked') res.writeHeader('Connection', 'close');
      res.end(answer.body, closing === 'ours');
    }
  });
}
