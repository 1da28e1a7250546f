import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { type Chromium, startChromium } from '../helpers/chromium.ts';
import { startDetour } from '../helpers/detour.ts';
import { buildExample } from '../helpers/examples.ts';
import { request } from '../helpers/http.ts';
import { type ImageContainer, startImage } from '../helpers/image.ts';
import { inRepository } from '../helpers/repository.ts';
import { openWebSocket, type TestWebSocket } from '../helpers/websocket.ts';

const image = await buildExample({ after }, 'python-live');

interface Votes {
  readonly tea: number;
  readonly coffee: number;
}

async function vote({ address }: ImageContainer, choice: keyof Votes): Promise<Votes> {
  const answer = await request(address, { method: 'POST', path: `/votes/${choice}` });
  deepStrictEqual([answer.status, answer.headers['content-type']], [200, 'application/json']);
  return JSON.parse(answer.text) as Votes;
}

const counts = async ({ address }: ImageContainer): Promise<Votes> =>
  JSON.parse((await request(address, { path: '/votes' })).text);

async function pageShows(chromium: Chromium, { tea, coffee }: Votes): Promise<void> {
  await chromium.waitForText('#tea output', String(tea));
  await chromium.waitForText('#coffee output', String(coffee));
}

/** Publishes what the app could have published before all that the page knows. Only the app was told where and how. */
const PUBLISH_STALE = `
import glob, os, urllib.request
for path in glob.glob("/proc/[0-9]*/environ"):
    lines = open(path).read().split("\\0")
    told = dict(line.split("=", 1) for line in lines if line.startswith("UWSRP_PUBLISH_"))
    if told:
        break
headers = {"Authorization": "Bearer " + told["UWSRP_PUBLISH_TOKEN"]}
url = told["UWSRP_PUBLISH_URL"] + "?topic=votes"
urllib.request.urlopen(urllib.request.Request(url, b'{"tea": 0, "coffee": 1}', headers))
`;

test('python-live: a vote by HTTP reaches every WebSocket', async (t) => {
  const container = await startImage(t, { image });
  const page = await request(container.address);
  strictEqual(page.headers['content-type'], 'text/html; charset=utf-8');
  strictEqual(page.text, readFileSync(inRepository('examples', 'python-live', 'index.html'), 'utf8'));
  deepStrictEqual(await counts(container), { tea: 0, coffee: 0 });

  const open = () => openWebSocket(t, `ws://127.0.0.1:${container.address.port}/live`);
  const next = async (socket: TestWebSocket) => JSON.parse((await socket.nextMessage(10_000)).text);
  const sockets = [await open(), await open()];
  for (const [choice, seen] of [
    ['tea', { tea: 1, coffee: 0 }],
    ['coffee', { tea: 1, coffee: 1 }],
    ['tea', { tea: 2, coffee: 1 }],
  ] as const) {
    deepStrictEqual(await vote(container, choice), seen);
    for (const socket of sockets) deepStrictEqual(await next(socket), seen);
  }
  for (const path of ['/votes', '/votes/', '/votes/water', '/votes/tea/', '/tea', '/']) {
    strictEqual((await request(container.address, { method: 'POST', path })).status, 404, path);
  }
  strictEqual((await request(container.address, { path: '/nothing' })).status, 404);
  deepStrictEqual(await counts(container), { tea: 2, coffee: 1 });

  strictEqual(await container.stop(), 0, container.output());
  for (const socket of sockets) strictEqual((await socket.closed).code, 1001);
});

test('python-live: an open page shows the votes of others, and nothing older than what it has shown', async (t) => {
  const container = await startImage(t, { image });
  await vote(container, 'coffee');
  const chromium = startChromium(t);
  await chromium.openPage(container.url);
  await chromium.waitForText('#state', 'live');
  await pageShows(chromium, { tea: 0, coffee: 1 });

  await vote(container, 'tea');
  await pageShows(chromium, { tea: 1, coffee: 1 });

  const listener = await openWebSocket(t, `ws://127.0.0.1:${container.address.port}/live`);
  await chromium.run(`document.querySelector('#tea button').click()`);
  deepStrictEqual(JSON.parse((await listener.nextMessage(10_000)).text), { tea: 2, coffee: 1 });
  await pageShows(chromium, { tea: 2, coffee: 1 });

  await chromium.run(`
    const tea = document.querySelector('#tea');
    const shown = [];
    const note = () => shown.push(Number(tea.querySelector('output').textContent));
    new MutationObserver(note).observe(tea, { subtree: true, childList: true, characterData: true });
    note();`);
  await container.exec('python3', '-c', PUBLISH_STALE);
  await vote(container, 'tea');
  await pageShows(chromium, { tea: 3, coffee: 1 });
  await chromium.run(`if (String(shown) !== '2,3') throw new Error('it has shown ' + shown)`);
  strictEqual(await container.stop(), 0, container.output());
});

test('python-live: a page that lost its app finds the next one, and shows the votes of that', async (t) => {
  const first = await startImage(t, { image });
  for (const choice of ['tea', 'tea', 'coffee'] as const) await vote(first, choice);
  const way = await startDetour(t, first.address);
  const chromium = startChromium(t);
  await chromium.openPage(`http://127.0.0.1:${way.port}`);
  await pageShows(chromium, { tea: 2, coffee: 1 });

  const second = await startImage(t, { image });
  await vote(second, 'coffee');
  way.lead(second.address);
  strictEqual(await first.stop(), 0, first.output());
  await pageShows(chromium, { tea: 0, coffee: 1 });
  await vote(second, 'tea');
  await pageShows(chromium, { tea: 1, coffee: 1 });
});

for (const [what, options, reason] of [
  ['there is no module', { env: { UWSRP_WS_MODULE: '' } }, /^not published to votes: there is no UWSRP_PUBLISH_URL,/m],
  ['the token is wrong', settingFirst('UWSRP_PUBLISH_TOKEN=wrong'), /^not published to votes: HTTP Error 401: /m],
  ['nobody listens', settingFirst('UWSRP_PUBLISH_URL=http://127.0.0.1:1/'), /^not published to votes: .*refused/m],
] as const) {
  test(`python-live: a vote counts when ${what}, and the log says why nobody heard of it`, async (t) => {
    const container = await startImage(t, { image, ...options });
    deepStrictEqual(await vote(container, 'tea'), { tea: 1, coffee: 0 });
    await container.waitForOutput(reason);
    deepStrictEqual(await counts(container), { tea: 1, coffee: 0 });
    strictEqual(await container.stop(), 0, container.output());
  });
}

/** The app's command with a variable that is not what uwsrp made it. */
function settingFirst(assignment: string) {
  return { command: ['env', assignment, 'python3', 'app.py'] };
}
