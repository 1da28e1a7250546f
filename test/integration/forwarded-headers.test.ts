import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProxiedApp, type ProxiedCase, startProxiedApp } from '../helpers/proxied-app.ts';
import { connectRaw } from '../helpers/raw-socket.ts';
import { forward, head, record } from '../helpers/request-case.ts';
import { hasNewerBuild } from '../helpers/target.ts';

const LINE = 'GET /x HTTP/1.1';

/** What clients set to pose as somebody else: fields by which routers and CDNs speak to apps. */
const POSING = [
  ...['Forwarded', 'X-Real-IP', 'X-Client-IP', 'Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'CF-Connecting-IPv6'],
  ...[
    'Fly-Client-IP',
    'Fastly-Client-IP',
    'DO-Connecting-IP',
    'X-Cluster-Client-IP',
    'X-Azure-ClientIP',
    'X-Remote-IP',
  ],
  ...[
    'X-AppEngine-User-IP',
    'X-Envoy-External-Address',
    'X-Original-Forwarded-For',
    'X-Originating-IP',
    'X-Remote-Addr',
  ],
  ...[
    'X-Forwarded',
    'X-Forwarded-Server',
    'X-Forwarded-Ssl',
    'X-Forwarded-Scheme',
    'X-Forwarded-Prefix',
    'X-Forwarded-By',
  ],
  ...['X-Forwarded-Protocol', 'X-Forwarded-Path', 'X-Forwarded-Uri', 'X-Forwarded-Method', 'X-Forwarded-User'],
  ...['CF-Visitor', 'CloudFront-Forwarded-Proto', 'Fly-Forwarded-Proto', 'Front-End-Https', 'X-Scheme', 'X-Url-Scheme'],
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-Original-Host', 'X-Original-Proto', 'X-Original-Uri', 'X-Queue-Start'],
];

interface Expected {
  readonly for?: string;
  readonly proto?: string;
  readonly host?: string;
  readonly port?: string;
}

/** A case that sends these fields and names what differs from a plain request of 127.0.0.1 for `a.example`. */
function tells(proxied: ProxiedApp, name: string, sent: readonly string[], expected: Expected): Promise<void> {
  return proxied.test(name, async (run) => {
    const { headers } = await forward(run, head(LINE, ...sent));
    assert.deepEqual(
      {
        for: headers.get('x-forwarded-for'),
        proto: headers.get('x-forwarded-proto'),
        host: headers.get('x-forwarded-host'),
        port: headers.get('x-forwarded-port'),
      },
      { for: '127.0.0.1', proto: 'http', host: 'a.example', port: '80', ...expected },
    );
  });
}

test('forwarding fields from a believed peer (auto)', async (t) => {
  const proxied = await startProxiedApp(t);

  await tells(proxied, 'are made from the connection and Host when there are none', [], {});
  await tells(proxied, 'take the port from Host', ['Host: a.example:8080'], { host: 'a.example:8080', port: '8080' });
  await tells(proxied, 'take the port from the Host of an IPv6 address', ['Host: [::1]:81'], {
    host: '[::1]:81',
    port: '81',
  });
  await tells(proxied, 'take the port from the scheme for an IPv6 address', ['Host: [::1]'], { host: '[::1]' });
  await tells(proxied, 'take the port from the scheme when that of Host is empty', ['Host: a:'], { host: 'a:' });

  await proxied.test('name an IPv6 peer in its short form', async (run) => {
    const seen = await record(run);
    const client = await connectRaw({ host: '::1', port: run.uwsrp.port }, run.t);
    run.clients.push(client);
    client.send(head(LINE));
    assert.equal((await client.readResponse()).status, 200);
    assert.equal(seen[0]!.headers.get('x-forwarded-for'), '::1');
  });

  await tells(proxied, 'get the peer appended', ['X-Forwarded-For: 1.1.1.1'], { for: '1.1.1.1, 127.0.0.1' });
  await tells(
    proxied,
    'are joined in order when they come in several lines',
    ['X-Forwarded-For: 1.1.1.1, 2.2.2.2', 'X-Forwarded-For: 3.3.3.3', 'X-Forwarded-For: 4.4.4.4'],
    {
      for: '1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4, 127.0.0.1',
    },
  );
  await tells(proxied, 'are kept with whatever they hold', ['X-Forwarded-For: unknown, "[2001:db8::1]:4711",_hidden'], {
    for: 'unknown, "[2001:db8::1]:4711",_hidden, 127.0.0.1',
  });
  await tells(
    proxied,
    'count as absent when they are empty',
    ['X-Forwarded-For:', 'X-Forwarded-Proto:', 'X-Forwarded-Host:', 'X-Forwarded-Port:'],
    {},
  );

  await tells(proxied, 'keep the scheme, and take the port from it', ['X-Forwarded-Proto: https'], {
    proto: 'https',
    port: '443',
  });
  await tells(proxied, 'keep a scheme of any spelling', ['X-Forwarded-Proto: HTTPS, http'], {
    proto: 'HTTPS, http',
    port: '443',
  });
  await tells(proxied, 'take wss for https', ['X-Forwarded-Proto: wss'], { proto: 'wss', port: '443' });
  await tells(proxied, 'join two lines with a scheme', ['X-Forwarded-Proto: https', 'X-Forwarded-Proto: http'], {
    proto: 'https, http',
    port: '443',
  });
  await tells(proxied, 'take the port 80 from a scheme that is unknown', ['X-Forwarded-Proto: gopher'], {
    proto: 'gopher',
  });

  await tells(proxied, 'keep the host, and take the port from it', ['X-Forwarded-Host: b.example:81'], {
    host: 'b.example:81',
    port: '81',
  });
  await tells(
    proxied,
    'take no port from Host when another host is forwarded',
    ['Host: a.example:8080', 'X-Forwarded-Host: b.example'],
    { host: 'b.example' },
  );
  await tells(proxied, 'take no port from a forwarded host that is none', ['X-Forwarded-Host: b/c:81'], {
    host: 'b/c:81',
  });
  await tells(proxied, 'keep the port', ['X-Forwarded-Port: 8443', 'X-Forwarded-Proto: https'], {
    proto: 'https',
    port: '8443',
  });

  await proxied.test('leave Host alone whatever is forwarded', async (run) => {
    const { headers } = await forward(run, head(LINE, 'X-Forwarded-Host: b.example'));
    assert.equal(headers.get('host'), 'a.example');
  });

  await proxied.test('pass beside the others that routers set, as they are', async (run) => {
    const { headers } = await forward(run, head(LINE, ...POSING.map((name, index) => `${name}: value-${index}`)));
    for (const [index, name] of POSING.entries()) assert.equal(headers.get(name), `value-${index}`, name);
  });

  await proxied.test('keep X-Request-Start', async (run) => {
    const { headers } = await forward(run, head(LINE, 'X-Request-Start: t=1700000000000'));
    assert.equal(headers.get('x-request-start'), 't=1700000000000');
  });

  await proxied.test('get X-Request-Start when it is absent or empty, in milliseconds', async (run) => {
    for (const sent of [[], ['X-Request-Start:']]) {
      const before = Date.now();
      const { headers } = await forward(run, head(LINE, ...sent));
      const match = /^t=(\d{13})$/.exec(headers.get('x-request-start')!);
      assert.ok(Number(match![1]) >= before - 1 && Number(match![1]) <= Date.now() + 1);
    }
  });

  await proxied.test('are never mixed up between requests on one connection', async (run) => {
    const seen = await record(run);
    const client = await run.connect();
    const sent = [
      'X-Forwarded-For: 1.1.1.1',
      'X-A: 1',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: b.example',
      'X-B: 2',
    ];
    for (const field of sent) {
      client.send(head(LINE, field));
      assert.equal((await client.readResponse()).status, 200);
    }
    assert.deepEqual(
      seen.map(({ headers }) =>
        ['for', 'proto', 'host', 'port'].map((name) => headers.get(`x-forwarded-${name}`)).join(' '),
      ),
      [
        '1.1.1.1, 127.0.0.1 http a.example 80',
        '127.0.0.1 http a.example 80',
        '127.0.0.1 https a.example 443',
        '127.0.0.1 http b.example 80',
        '127.0.0.1 http a.example 80',
      ],
    );
  });
});

/** Everything is set afresh, whatever the client says. */
async function believesNothing(run: ProxiedCase): Promise<void> {
  const posing = [
    ...POSING,
    ...(hasNewerBuild ? ['X_Forwarded_For', 'X_Forwarded_Proto', 'X_Real_Ip', 'X-Forwarded_Host'] : []),
  ];
  const { headers } = await forward(
    run,
    head(
      LINE,
      'X-Forwarded-For: 1.1.1.1',
      'X-Forwarded-For: 2.2.2.2',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Port: 1',
      'X-Request-Start: t=1',
      'Via: 1.1 front',
      ...posing.map((name) => `${name}: 6.6.6.6`),
    ),
  );
  assert.deepEqual(headers.all('x-forwarded-for'), ['127.0.0.1']);
  assert.deepEqual(headers.all('x-forwarded-proto'), ['http']);
  assert.deepEqual(headers.all('x-forwarded-host'), ['a.example']);
  assert.deepEqual(headers.all('x-forwarded-port'), ['80']);
  assert.match(headers.get('x-request-start')!, /^t=\d{13}$/);
  assert.equal(headers.get('via'), '1.1 front');
  for (const name of posing) assert.deepEqual(headers.all(name), [], name);
}

test('forwarding fields from a peer that is not believed', async (t) => {
  for (const trust of ['none', '10.0.0.0/8,2001:db8::/32']) {
    const proxied = await startProxiedApp(t, {
      env: { UWSRP_TRUST_PROXY: trust, UWSRP_CLIENT_IP_HEADER: 'X-Edge-IP' },
    });
    await proxied.test(`are set afresh, and all that could pass for them is dropped (${trust})`, believesNothing);
    await tells(
      proxied,
      `take no address from the field of UWSRP_CLIENT_IP_HEADER (${trust})`,
      ['X-Edge-IP: 1.1.1.1'],
      {},
    );
    await proxied.test(`lose the field of UWSRP_CLIENT_IP_HEADER (${trust})`, async (run) => {
      assert.equal((await forward(run, head(LINE, 'X-Edge-IP: 1.1.1.1'))).headers.get('x-edge-ip'), undefined);
    });
  }
});

test('forwarding fields from a peer that is named', async (t) => {
  for (const trust of ['all', '192.0.2.1, 127.0.0.0/8']) {
    const proxied = await startProxiedApp(t, { env: { UWSRP_TRUST_PROXY: trust } });
    await tells(proxied, `are believed (${trust})`, ['X-Forwarded-For: 1.1.1.1', 'X-Forwarded-Proto: https'], {
      for: '1.1.1.1, 127.0.0.1',
      proto: 'https',
      port: '443',
    });
  }
});

test('X-Forwarded-For', async (t) => {
  for (const [what, env] of [
    ['on Heroku', { DYNO: 'web.1' }],
    ['with UWSRP_FORWARDED_FOR=keep', { UWSRP_FORWARDED_FOR: 'keep' }],
  ] as const) {
    const proxied = await startProxiedApp(t, { env });
    await tells(proxied, `is kept as the router wrote it ${what}`, ['X-Forwarded-For: 1.1.1.1, 2.2.2.2'], {
      for: '1.1.1.1, 2.2.2.2',
    });
    await tells(
      proxied,
      `is kept in order over several lines ${what}`,
      ['X-Forwarded-For: 1.1.1.1', 'X-Forwarded-For: 2.2.2.2'],
      { for: '1.1.1.1, 2.2.2.2' },
    );
    await tells(proxied, `is the peer when there is none ${what}`, [], {});
  }

  const appending = await startProxiedApp(t, { env: { RENDER: 'true', UWSRP_FORWARDED_FOR: 'append' } });
  await tells(appending, 'gets the peer appended on a platform too, when told so', ['X-Forwarded-For: 1.1.1.1'], {
    for: '1.1.1.1, 127.0.0.1',
  });
});

test('the field of UWSRP_CLIENT_IP_HEADER', async (t) => {
  const proxied = await startProxiedApp(t, { env: { UWSRP_CLIENT_IP_HEADER: 'Fly-Client-IP' } });
  const list = 'X-Forwarded-For: 2.2.2.2';

  await tells(proxied, 'takes the place of the list', ['Fly-Client-IP: 1.1.1.1', list], { for: '1.1.1.1, 127.0.0.1' });
  await tells(proxied, 'is known in any case', ['fly-client-ip: 1.1.1.1'], { for: '1.1.1.1, 127.0.0.1' });
  await tells(proxied, 'may hold a port', ['Fly-Client-IP: 1.1.1.1:4711'], { for: '1.1.1.1, 127.0.0.1' });
  await tells(proxied, 'may hold an IPv6 address', ['Fly-Client-IP: 2001:db8::1', list], {
    for: '2001:db8::1, 127.0.0.1',
  });
  await tells(proxied, 'is written as IPv4 when it is mapped', ['Fly-Client-IP: ::ffff:1.1.1.1'], {
    for: '1.1.1.1, 127.0.0.1',
  });
  for (const value of ['', 'unknown', '1.1.1', '1.1.1.1, 3.3.3.3', 'evil.example', '1.1.1.1 x', '999.1.1.1']) {
    await tells(proxied, `has no say when it holds no address ("${value}")`, [`Fly-Client-IP: ${value}`, list], {
      for: '2.2.2.2, 127.0.0.1',
    });
  }
  await tells(proxied, 'has no say when it comes twice', ['Fly-Client-IP: 1.1.1.1', 'Fly-Client-IP: 3.3.3.3', list], {
    for: '2.2.2.2, 127.0.0.1',
  });

  await proxied.test('reaches the app as it is', async (run) => {
    assert.equal((await forward(run, head(LINE, 'Fly-Client-IP: 1.1.1.1'))).headers.get('fly-client-ip'), '1.1.1.1');
  });
});
