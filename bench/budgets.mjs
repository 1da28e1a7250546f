// What is asked of uwsrp, and what RESULTS.md says of it where it is missed. `value` takes `of(peer, scenario, metric)`, the median of a run's rounds (`worst`, the highest
// of them), and gives what is compared; NaN where something of it was not measured.
const times = (value) => `${Number(value.toFixed(3))}x`;
const megabytes = (value) => `${value.toFixed(1)} MB`;
const kilobytes = (value) => `${value.toFixed(1)} KB`;

const CROSSINGS =
  'Where the time goes, by `perf` over the image’s Node 24 at 64 connections: 57 % in the kernel, 31 % in Node, V8’s run time, libc and ' +
  'uWebSockets.js, 11 % in our own compiled JavaScript. The system calls are the four that nginx makes and `getpeername`; ' +
  'what nginx has not is the way between C++ and JavaScript: some fifteen calls for each request (the handler, each getter ' +
  'and field, the cork, the answer, a read from and a write to the app), each of which makes strings or objects. ';

const againstNginx = (what, scenario, metric, { ifMissed, ...limit }) => ({
  what,
  ...limit,
  ifMissed,
  unit: 'of nginx',
  format: times,
  value: ({ of }) => of('uwsrp', scenario, metric) / of('nginx', scenario, metric),
});

const growth = (what, scenario) => ({
  what: `RSS growth, ${what}`,
  atMost: 32,
  format: megabytes,
  value: ({ worst }) => worst('uwsrp', scenario, 'growth'),
});

export const BUDGETS = [
  againstNginx('small GET, CPU per request', 'get-64', 'cpu', {
    atMost: 1,
    ifMissed: `${CROSSINGS}To write past Node’s stream, by its private handle, would win 4 % more, and lose the errors it checks for.`,
  }),
  {
    what: 'small GET, CPU of uws-reverse-proxy per CPU of ours',
    atLeast: 5,
    format: times,
    value: ({ of }) => of('uws-reverse-proxy', 'get-64', 'cpu') / of('uwsrp', 'get-64', 'cpu'),
  },
  againstNginx('small GET over a unix socket, CPU per request', 'unix-socket', 'cpu', {
    atMost: 1,
    ifMissed: 'As over TCP: the kernel’s part is smaller here, so the rest weighs more.',
  }),
  againstNginx('small GET over a unix socket, 8 pipelined, CPU per request', 'pipelining-8', 'cpu', {
    atMost: 0.85,
    ifMissed: 'Pipelining saves most of the calls on the app’s side, not those on the client’s, which are the most.',
  }),
  againstNginx('100 MB down, rate', 'download-100mb', 'rate', { atLeast: 0.9 }),
  againstNginx('100 MB up, rate', 'upload-100mb', 'rate', { atLeast: 0.9 }),
  growth('100 MB down', 'download-100mb'),
  growth('100 MB up', 'upload-100mb'),
  growth('slow readers', 'slow-readers'),
  growth('uploads to a slow app', 'slow-app'),
  againstNginx('WebSocket echo, 1 in flight, CPU', 'ws-echo-1', 'cpu', {
    atMost: 1.2,
    ifMissed:
      'nginx passes bytes on and looks at no frame. Here each message is checked (frame, length, UTF-8), unmasked, held to ' +
      '`UWSRP_WS_MAX_MESSAGE` and written as a frame of its own, and two callbacks into JavaScript have to be paid by one message.',
  }),
  againstNginx('WebSocket echo, 16 in flight, CPU', 'ws-echo-16', 'cpu', {
    atMost: 1.2,
    ifMissed: 'As with one in flight; messages that come together share the callbacks.',
  }),
  againstNginx('WebSocket echo, 16 KB, CPU', 'ws-echo-16kb', 'cpu', {
    atMost: 0.9,
    ifMissed: 'As with small messages, and each payload is unmasked and copied where nginx moves it on as it is.',
  }),
  {
    what: 'native WebSocket echo, CPU of nginx + app per CPU of ours',
    atLeast: 2,
    format: times,
    value: ({ of }) => of('nginx', 'ws-native', 'cpu') / of('uwsrp', 'ws-native', 'cpu'),
  },
  {
    what: 'RSS at rest',
    atMost: 60,
    format: megabytes,
    value: ({ of }) => of('uwsrp', 'idle-10000', 'idle'),
    ifMissed:
      'Two thirds are pages of files, above all of Node’s program, of which a Node that does nothing has 35 MB too; they are ' +
      'there once for all processes that run it, and the kernel can drop them. What is left stands in the table, at the idle connections. ' +
      'Measured by itself it was 59.4 to 60.2 MB: in a whole run the kernel’s table of sockets, which is read at boot, has ' +
      'thousands of lines from the scenarios before.',
  },
  {
    what: 'RSS per idle client connection',
    atMost: 4,
    format: kilobytes,
    value: ({ of }) => of('uwsrp', 'idle-10000', 'each'),
  },
  {
    what: 'RSS per idle relayed WebSocket',
    atMost: 20,
    format: kilobytes,
    value: ({ of }) => of('uwsrp', 'idle-ws-5000', 'each'),
  },
  {
    what: 'boot, what we add to the first answer',
    atMost: 150,
    format: (value) => `${value.toFixed(0)} ms`,
    value: ({ of }) => of('uwsrp', 'boot', 'added'),
    ifMissed:
      'Without the image Node looks for, reads and links each module by itself; the image has them in one file, with its bytecode.',
  },
  {
    what: 'image, over its base',
    atMost: 30,
    format: megabytes,
    value: ({ of }) => of('uwsrp', 'image-size', 'added'),
  },
];

/** Asked for as well, of features that there are not yet: they get a scenario with the feature. */
export const NOT_YET = ['integrated mode'];
