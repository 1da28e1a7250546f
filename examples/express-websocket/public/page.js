const LONGEST_PAUSE_MS = 5000;
const LINES_KEPT = 200;

const byId = (id) => document.getElementById(id);

/** The fields that a proxy in front fills, and what each means. */
const FORWARDED = [
  ['Host', 'the name you asked for'],
  ['X-Forwarded-For', 'your address'],
  ['X-Forwarded-Proto', 'http or https, as you see it'],
  ['X-Forwarded-Host', 'the Host of the first request'],
  ['X-Forwarded-Port', 'the public port'],
  ['X-Request-Start', 'when the first router saw it'],
];

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function setState(target, state, text = state) {
  target.dataset.state = state;
  target.textContent = text;
}

// --- What the app saw

async function showRequest() {
  const response = await fetch('/api/request');
  if (!response.ok) throw new Error(`status ${response.status}`);
  const { headers, port, node, receivedAt } = await response.json();
  const headerOf = (name) => headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];

  byId('forwarded').replaceChildren(...FORWARDED.map(([name, hint]) => row(name, headerOf(name), hint)));
  byId('all').replaceChildren(...headers.map(([name, value]) => row(name, value)));
  showPath(headerOf('X-Forwarded-For') !== undefined, port, node);
  byId('verdict').textContent = verdictOf(headerOf, receivedAt);
}

function row(name, value, hint) {
  const title = element('dt', name);
  if (hint) title.append(element('small', hint));
  const made = element('div');
  made.append(title, value === undefined ? element('dd', 'not sent', 'absent') : element('dd', value));
  return made;
}

function showPath(isProxied, port, node) {
  byId('hop-browser').textContent = location.origin;
  byId('hop-app').textContent = `port ${port}, Node ${node.slice(1)}`;
  byId('hop-proxy').hidden = !isProxied;
  byId('hop-proxy').querySelector('strong').textContent = `port ${location.port || defaultPort()}`;
}

function defaultPort() {
  return location.protocol === 'https:' ? 443 : 80;
}

function verdictOf(headerOf, receivedAt) {
  if (headerOf('X-Forwarded-For') === undefined) return 'No proxy in front: the app was asked directly.';
  const start = /^t=(\d+)/.exec(headerOf('X-Request-Start') ?? '');
  if (!start) return '';
  return `${Math.max(0, receivedAt - Number(start[1]))} ms from the first router to the app.`;
}

function showRequestOrError() {
  showRequest().catch((error) => {
    byId('verdict').textContent = `The request failed: ${error.message}`;
  });
}

byId('again').addEventListener('click', showRequestOrError);
showRequestOrError();

// --- The clock

const clock = new EventSource('/api/clock');
clock.onopen = () => setState(byId('clock-state'), 'open', 'live');
clock.onerror = () => setState(byId('clock-state'), 'connecting', 'reconnecting');
clock.onmessage = ({ data }) => {
  const now = new Date(Number(data));
  byId('clock').dateTime = now.toISOString();
  byId('clock').textContent = now.toLocaleTimeString([], { hour12: false });
};

// --- The echo

const form = byId('echo');
const input = byId('message');
const log = byId('log');
let socket;
let pauseMs = 250;
/** When each message went out that has not come back; an echo keeps the order. */
let sentAt = [];

function connect() {
  setState(byId('echo-state'), 'connecting');
  sentAt = [];
  socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/echo`);
  socket.onopen = () => {
    pauseMs = 250;
    setState(byId('echo-state'), 'open', 'connected');
    form.querySelector('button').disabled = false;
    addLine('connected', undefined, 'event');
  };
  socket.onmessage = ({ data }) => addLine(data, `${(performance.now() - sentAt.shift()).toFixed(1)} ms`);
  socket.onclose = ({ code, reason }) => {
    form.querySelector('button').disabled = true;
    setState(byId('echo-state'), 'closed', `closed, ${code}`);
    addLine(`closed with ${code}${reason && `: ${reason}`}`, undefined, 'event');
    setTimeout(connect, pauseMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  };
}

function addLine(text, note, className) {
  const line = element('li', undefined, className);
  line.append(element('span', text));
  if (note) line.append(element('small', note));
  log.append(line);
  while (log.children.length > LINES_KEPT) log.firstChild.remove();
  log.scrollTop = log.scrollHeight;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (socket.readyState !== WebSocket.OPEN || input.value === '') return;
  sentAt.push(performance.now());
  socket.send(input.value);
  input.select();
});

connect();
