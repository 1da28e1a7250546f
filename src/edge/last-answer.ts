import type { LocalAnswer } from '../proxy/local-answer.ts';
import { RequestBody } from './request-body.ts';
import type { UploadWatch } from './upload-watch.ts';
import type { HttpResponse } from './uws.ts';

/**
 * Writes an answer of ours, whole for the client and the last on its connection, without ending the response: an ended
 * one must not be touched again, and this one is to be closed later, when the client has stopped sending
 * (`RequestBody.linger`). uWebSockets.js has no call for that. It does write the value of a field as it is, so the
 * field that comes last carries the end of the head and the body.
 */
export function sendLastAnswer(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean): void {
  const { body } = answer;
  // writeHeader adds a line end, which closes the head, or a body.
  const length = body.length === 0 ? 0 : body.length + 2;
  const isBodiless = isHeadRequest || length === 0;
  const last = isBodiless ? `${length}\r\n` : Buffer.concat([Buffer.from(`${length}\r\n\r\n`), body]);
  res.cork(() => {
    res.writeStatus(answer.statusLine);
    for (const [name, value] of answer.fields) res.writeHeader(name, Buffer.from(value, 'latin1'));
    res.writeHeader('Date', new Date().toUTCString());
    res.writeHeader('Connection', 'close');
    res.writeHeader('Content-Length', last);
  });
}

/**
 * Answers a request in its handler, as the last on its connection. After a refused request nobody knows where the next
 * one would begin, and none may be served behind a `Connection: close` (RFC 9112 section 9.6). But uWebSockets.js goes on
 * to the next request of the same read once a response is ended, whatever the response said. This one is not ended, so a
 * request behind it closes the connection, and else the end of its body does.
 */
export function answerLast(res: HttpResponse, answer: LocalAnswer, isHeadRequest: boolean, uploads: UploadWatch): void {
  sendLastAnswer(res, answer, isHeadRequest);
  const body = new RequestBody(res, false, uploads);
  res.onAborted(() => body.stop());
  body.linger(answer);
}
