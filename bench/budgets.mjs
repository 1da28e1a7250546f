// What is asked of uwsrp. `value` takes `of(peer, scenario, metric)`, the median of a run's rounds (`worst`, the highest
// of them), and gives what is compared; NaN where something of it was not measured.
const times = (value) => `${Number(value.toFixed(3))}x`;
const megabytes = (value) => `${value.toFixed(1)} MB`;
const kilobytes = (value) => `${value.toFixed(1)} KB`;

const againstNginx = (what, scenario, metric, limit) => ({
  what,
  ...limit,
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
  againstNginx('small GET, CPU per request', 'get-64', 'cpu', { atMost: 1 }),
  {
    what: 'small GET, CPU of uws-reverse-proxy per CPU of ours',
    atLeast: 5,
    format: times,
    value: ({ of }) => of('uws-reverse-proxy', 'get-64', 'cpu') / of('uwsrp', 'get-64', 'cpu'),
  },
  againstNginx('small GET over a unix socket, CPU per request', 'unix-socket', 'cpu', { atMost: 1 }),
  againstNginx('small GET over a unix socket, 8 pipelined, CPU per request', 'pipelining-8', 'cpu', { atMost: 0.85 }),
  againstNginx('100 MB down, rate', 'download-100mb', 'rate', { atLeast: 0.9 }),
  againstNginx('100 MB up, rate', 'upload-100mb', 'rate', { atLeast: 0.9 }),
  growth('100 MB down', 'download-100mb'),
  growth('100 MB up', 'upload-100mb'),
  growth('slow readers', 'slow-readers'),
  growth('uploads to a slow app', 'slow-app'),
  againstNginx('WebSocket echo, 1 in flight, CPU', 'ws-echo-1', 'cpu', { atMost: 1.2 }),
  againstNginx('WebSocket echo, 16 in flight, CPU', 'ws-echo-16', 'cpu', { atMost: 1.2 }),
  againstNginx('WebSocket echo, 16 KB, CPU', 'ws-echo-16kb', 'cpu', { atMost: 0.9 }),
  {
    what: 'native WebSocket echo, CPU of nginx + app per CPU of ours',
    atLeast: 2,
    format: times,
    value: ({ of }) => of('nginx', 'ws-native', 'cpu') / of('uwsrp', 'ws-native', 'cpu'),
  },
  { what: 'RSS at rest', atMost: 60, format: megabytes, value: ({ of }) => of('uwsrp', 'idle-10000', 'idle') },
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
