import type { LocalAnswer } from '../proxy/pipeline.ts';
import type { HttpResponse } from './uws.ts';

/**
 * Writes an answer of ours, whole for the client and the last on its connection, without ending the response: an ended
 * one must not be touched again, and this one is to be closed later, when the client has stopped sending
 * (`RequestBody.linger`). uWebSockets.js has no call for that. It does write the value of a field as it is, so the
 * field that comes last carries the end of the head and the body.
 */
export function sendLastAnswer(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean): void {
  // writeHeader adds a line end, which closes either the head or the body.
  const length = Buffer.byteLength(answer.body) + 2;
  const rest = isHeadRequest ? '\r\n' : `\r\n\r\n${answer.body}`;
  res.cork(() => {
    res.writeStatus(answer.statusLine);
    for (const [name, value] of answer.fields) res.writeHeader(name, Buffer.from(value, 'latin1'));
    res.writeHeader('Date', new Date().toUTCString());
    res.writeHeader('Connection', 'close');
    res.writeHeader('Content-Length', `${length}${rest}`);
  });
}
