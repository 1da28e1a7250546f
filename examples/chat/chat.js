// Loaded into uwsrp (UWSRP_WS_MODULE): holds every visitor's WebSocket. The app in server.js knows none of them.
import { randomBytes } from 'node:crypto';

const LONGEST_TEXT = 500;

/** @type {import('uwsrp').NativeModule} */
export default function (app, { publish, log }) {
  app.ws('/rooms/:room', {
    maxPayloadLength: 4 * LONGEST_TEXT,

    upgrade(res, req, socketContext) {
      // The app decodes its paths too: both have the same name for the topic.
      const room = decode(req.getParameter(0));
      if (room === undefined) {
        res.writeStatus('400 Bad Request').end();
        return;
      }
      const visitor = { topic: `rooms/${room}`, name: randomBytes(2).toString('hex') };
      const header = (name) => req.getHeader(`sec-websocket-${name}`);
      res.upgrade(visitor, header('key'), header('protocol'), header('extensions'), socketContext);
    },

    open(ws) {
      const { topic, name } = ws.getUserData();
      ws.subscribe(topic);
      publish(topic, JSON.stringify({ from: name, event: 'came' }));
    },

    message(ws, message, isBinary) {
      const { topic, name } = ws.getUserData();
      const text = isBinary ? '' : Buffer.from(message).toString().trim().slice(0, LONGEST_TEXT);
      if (text !== '') publish(topic, JSON.stringify({ from: name, text }));
    },

    close(ws) {
      const { topic, name } = ws.getUserData();
      publish(topic, JSON.stringify({ from: name, event: 'left' }));
    },
  });
  log.info('the chat is there');
}

/** A part of the path as text: `caf%C3%A9` is `café`. Undefined when it is not encoded properly. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
