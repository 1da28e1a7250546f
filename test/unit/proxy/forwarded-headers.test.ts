import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createForwardedHeaders } from '../../../src/proxy/forwarded-headers.ts';
import type { ProxyRequest } from '../../../src/proxy/request.ts';
import { proxyRequest } from '../../helpers/proxy-request.ts';

const NOW = 1_700_000_000_123;

interface Fields {
  for: string;
  proto: string;
  host: string | undefined;
  port: string;
  start: string;
}

/** The lines as fields, each at most once, after checking that they are whole head lines. */
function fieldsOf(lines: string): Fields {
  assert.match(lines, /^(?:X-[A-Za-z-]+: [^\r\n]+\r\n)+$/);
  const entries = lines
    .split('\r\n')
    .slice(0, -1)
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
  const fields = new Map(entries);
  assert.equal(fields.size, entries.length, 'a field is there twice');
  return {
    for: fields.get('X-Forwarded-For')!,
    proto: fields.get('X-Forwarded-Proto')!,
    host: fields.get('X-Forwarded-Host'),
    port: fields.get('X-Forwarded-Port')!,
    start: fields.get('X-Request-Start')!,
  };
}

const append = createForwardedHeaders({ forwardedFor: 'append' }, () => NOW);
const keep = createForwardedHeaders({ forwardedFor: 'keep' }, () => NOW);

const trusted = (differences: Partial<ProxyRequest> = {}) => fieldsOf(append(proxyRequest(differences), true));
const trustedAndKept = (differences: Partial<ProxyRequest> = {}) => fieldsOf(keep(proxyRequest(differences), true));
const stranger = (differences: Partial<ProxyRequest> = {}) => fieldsOf(append(proxyRequest(differences), false));

const PLAIN: Fields = { for: '10.0.0.9', proto: 'http', host: 'a.example', port: '80', start: `t=${NOW}` };

const EVERYTHING: Partial<ProxyRequest> = {
  forwardedFor: '1.1.1.1',
  forwardedProto: 'https',
  forwardedHost: 'front.example',
  forwardedPort: '8443',
  realIp: '1.1.1.1',
  requestStart: 't=1',
  clientIp: '1.1.1.1',
};

test('the lines stand in one order, each ended', () => {
  assert.equal(
    append(proxyRequest(), true),
    'X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example\r\n' +
      `X-Forwarded-Port: 80\r\nX-Request-Start: t=${NOW}\r\n`,
  );
});

test('a client that says nothing is described by its connection, trusted or not', () => {
  assert.deepEqual(trusted(), PLAIN);
  assert.deepEqual(trustedAndKept(), PLAIN);
  assert.deepEqual(stranger(), PLAIN);
});

test('what a stranger says is replaced, all of it', () => {
  assert.deepEqual(stranger(EVERYTHING), PLAIN);
  assert.deepEqual(fieldsOf(keep(proxyRequest(EVERYTHING), false)), PLAIN);
});

test('over TLS of ours the scheme is https and the port 443', () => {
  assert.deepEqual(stranger({ isTls: true }), { ...PLAIN, proto: 'https', port: '443' });
  assert.deepEqual(trusted({ isTls: true }), { ...PLAIN, proto: 'https', port: '443' });
});

test('what a trusted peer says is kept, and the peer appended', () => {
  const { clientIp, ...said } = EVERYTHING;
  assert.deepEqual(trusted(said), {
    for: '1.1.1.1, 10.0.0.9',
    proto: 'https',
    host: 'front.example',
    port: '8443',
    start: 't=1',
  });
});

const LISTS: [what: string, forwardedFor: string | undefined, appended: string, kept: string][] = [
  ['no list', undefined, '10.0.0.9', '10.0.0.9'],
  ['an empty list', '', '10.0.0.9', '10.0.0.9'],
  ['one entry', '1.1.1.1', '1.1.1.1, 10.0.0.9', '1.1.1.1'],
  ['two lines, joined in order', '1.1.1.1, 2.2.2.2', '1.1.1.1, 2.2.2.2, 10.0.0.9', '1.1.1.1, 2.2.2.2'],
  ['odd entries', 'unknown,[::1]:2 ,', 'unknown,[::1]:2 ,, 10.0.0.9', 'unknown,[::1]:2 ,'],
];
for (const [what, forwardedFor, appended, kept] of LISTS) {
  test(`a trusted peer with ${what} is appended, or kept out`, () => {
    assert.equal(trusted({ forwardedFor }).for, appended);
    assert.equal(trustedAndKept({ forwardedFor }).for, kept);
  });
}

test('a valid client address takes the place of the list', () => {
  const said = { forwardedFor: '9.9.9.9, 8.8.8.8', clientIp: '203.0.113.7' };
  assert.equal(trusted(said).for, '203.0.113.7, 10.0.0.9');
  assert.equal(trustedAndKept(said).for, '203.0.113.7');
});

test('a valid client address serves where there is no list', () => {
  assert.equal(trusted({ clientIp: '2001:db8::7' }).for, '2001:db8::7, 10.0.0.9');
  assert.equal(trustedAndKept({ clientIp: ' 203.0.113.7:4711 ' }).for, '203.0.113.7');
});

for (const clientIp of ['', 'unknown', '1.1.1.1, 2.2.2.2', '203.0.113', 'a.example']) {
  test(`the client address "${clientIp}" is none, so that the list stands`, () => {
    assert.equal(trusted({ clientIp, forwardedFor: '1.1.1.1' }).for, '1.1.1.1, 10.0.0.9');
    assert.equal(trustedAndKept({ clientIp }).for, '10.0.0.9');
  });
}

const PROTOS: [forwardedProto: string | undefined, proto: string, port: string][] = [
  ['https', 'https', '443'],
  ['HTTPS', 'HTTPS', '443'],
  ['https,http', 'https,http', '443'],
  ['http, https', 'http, https', '80'],
  ['wss', 'wss', '443'],
  ['ftp', 'ftp', '80'],
  ['', 'http', '80'],
  [undefined, 'http', '80'],
];
for (const [forwardedProto, proto, port] of PROTOS) {
  test(`a trusted scheme of ${JSON.stringify(forwardedProto) ?? 'nothing'} reaches the app as ${proto}, port ${port}`, () => {
    assert.deepEqual(trusted({ forwardedProto }), { ...PLAIN, proto, port });
  });
}

const PORTS: [what: string, differences: Partial<ProxyRequest>, port: string][] = [
  ["Host's", { host: 'a.example:8080' }, '8080'],
  ["Host's, also under https", { host: 'a.example:8443', forwardedProto: 'https' }, '8443'],
  ["an IPv6 Host's", { host: '[::1]:8080' }, '8080'],
  ['the default of http for an IPv6 Host without one', { host: '[::1]' }, '80'],
  ['the default when it is empty', { host: 'a.example:' }, '80'],
  ['the one said', { host: 'a.example:8080', forwardedPort: '9000' }, '9000'],
  ["Host's when the one said is empty", { host: 'a.example:8080', forwardedPort: '' }, '8080'],
  ['that of the host that the app sees', { host: 'inner:8080', forwardedHost: 'front.example:8443' }, '8443'],
  [
    'never that of an inner hop',
    { host: 'inner:8080', forwardedHost: 'front.example', forwardedProto: 'https' },
    '443',
  ],
  ['no junk behind a colon', { forwardedHost: 'front.example:x' }, '80'],
  ['none above 65535', { forwardedHost: 'front.example:65536' }, '80'],
  ['that of the first of several hosts', { forwardedHost: 'front.example:8443, b.example:1' }, '8443'],
];
for (const [what, differences, port] of PORTS) {
  test(`the port from a trusted peer is ${what}`, () => {
    assert.equal(trusted(differences).port, port);
  });
}

test("a stranger's port is Host's, else by the scheme", () => {
  assert.equal(stranger({ host: 'a.example:8080', forwardedPort: '1' }).port, '8080');
  assert.equal(stranger({ host: 'a.example', forwardedProto: 'https' }).port, '80');
});

test('the host is the one said, else Host with its port', () => {
  assert.equal(trusted({ forwardedHost: 'front.example' }).host, 'front.example');
  assert.equal(trusted({ forwardedHost: '', host: 'a.example:8080' }).host, 'a.example:8080');
  assert.equal(stranger({ forwardedHost: 'front.example', host: '[::1]:8080' }).host, '[::1]:8080');
});

test('an empty Host gives no host line and nothing undefined', () => {
  for (const request of [proxyRequest({ host: '' }), proxyRequest({ host: '', forwardedProto: 'https' })]) {
    for (const isTrusted of [true, false]) {
      const lines = append(request, isTrusted);
      assert.equal(fieldsOf(lines).host, undefined);
      assert.doesNotMatch(lines, /undefined|null|NaN/);
    }
  }
});

for (const requestStart of ['1427041338251', 't=1693406590.527', '1693406590.527']) {
  test(`the start "${requestStart}" of a trusted router is kept in its own spelling`, () => {
    assert.equal(trusted({ requestStart }).start, requestStart);
    assert.equal(stranger({ requestStart }).start, `t=${NOW}`);
  });
}

test('a gap beside what a trusted peer says is filled from the connection', () => {
  assert.deepEqual(trustedAndKept({ forwardedFor: '1.1.1.1' }), { ...PLAIN, for: '1.1.1.1' });
  assert.deepEqual(trustedAndKept({ forwardedFor: '1.1.1.1', isTls: true }), {
    ...PLAIN,
    for: '1.1.1.1',
    proto: 'https',
    port: '443',
  });
});

test('an empty start is made anew', () => {
  assert.equal(trusted({ requestStart: '' }).start, `t=${NOW}`);
});

test('the start follows the clock', () => {
  let ms = 1000;
  const rule = createForwardedHeaders({ forwardedFor: 'append' }, () => ms);
  const startOf = () => fieldsOf(rule(proxyRequest(), true)).start;
  assert.equal(startOf(), 't=1000');
  assert.equal(startOf(), 't=1000');
  ms = 1001;
  assert.equal(startOf(), 't=1001');
  ms = 999;
  assert.equal(startOf(), 't=999');
});

test('requests in turns do not see one another', () => {
  const requests = [
    proxyRequest(),
    proxyRequest({ peer: '10.0.0.8' }),
    proxyRequest({ host: 'b.example:81' }),
    proxyRequest({ isTls: true }),
    proxyRequest({ forwardedFor: '1.1.1.1' }),
    proxyRequest({ host: '' }),
  ];
  const alone = requests.map((request) => createForwardedHeaders({ forwardedFor: 'append' }, () => NOW)(request, true));
  assert.equal(new Set(alone).size, requests.length);
  for (let round = 0; round < 2; round++) {
    for (const [index, request] of requests.entries()) {
      assert.equal(append(request, true), alone[index]);
      assert.equal(append(request, true), alone[index]);
    }
  }
});

test('bytes beyond ASCII pass as they came', () => {
  assert.equal(trusted({ forwardedFor: 'caf\xe9' }).for, 'caf\xe9, 10.0.0.9');
});
