import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import express from 'express';

const { PORT = '3000', UWSRP_PUBLISH_URL, UWSRP_PUBLISH_TOKEN } = process.env;
const LONGEST_TEXT = 500;
const LONGEST_WAIT_MS = 2000;

const app = express();
app.disable('x-powered-by');

app.get('/', (_request, response) => response.sendFile(fileURLToPath(new URL('index.html', import.meta.url))));

/** An announcement is the app's business (who may make one, say); uwsrp tells it to everybody in the room. */
app.post('/rooms/:room/announcements', express.json({ limit: '4kb' }), async (request, response) => {
  const { text } = request.body ?? {};
  if (typeof text !== 'string' || text.trim() === '') {
    response.status(400).json({ error: 'text is missing' });
    return;
  }
  await publish(`rooms/${request.params.room}`, { announcement: text.trim().slice(0, LONGEST_TEXT) });
  response.status(204).end();
});

async function publish(topic, message) {
  const answer = await fetch(`${UWSRP_PUBLISH_URL}?topic=${encodeURIComponent(topic)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${UWSRP_PUBLISH_TOKEN}` },
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(LONGEST_WAIT_MS),
  });
  if (!answer.ok) throw new Error(`not published: ${answer.status} ${await answer.text()}`);
}

// Only uwsrp, in the same container, has to reach this port.
const server = createServer(app).listen(Number(PORT), '127.0.0.1');

// Not `once`: a platform that signals every process, as Heroku does, signals this one twice, and the second must not kill.
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

/** Lets requests finish; then nothing keeps the process alive. The WebSockets are not here: uwsrp closes them. */
function stop() {
  server.close();
}
