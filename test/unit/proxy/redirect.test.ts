import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedirect, type RedirectConfig } from '../../../src/proxy/redirect.ts';
import type { ProxyRequest } from '../../../src/proxy/request.ts';
import { proxyRequest } from '../../helpers/proxy-request.ts';

function redirectOf(
  config: Partial<RedirectConfig>,
  differences: Partial<ProxyRequest>,
  { isTrusted = true }: { isTrusted?: boolean } = {},
) {
  const rule = createRedirect({
    forceSsl: 'off',
    forceSslExempt: [],
    canonicalHost: undefined,
    healthPath: undefined,
    ...config,
  });
  return rule(proxyRequest(differences), isTrusted);
}

const locationOf = (...parameters: Parameters<typeof redirectOf>) => redirectOf(...parameters)?.location;

const overHttp = { forwardedProto: 'http' };

test('with everything off nothing is redirected', () => {
  assert.equal(redirectOf({}, overHttp), undefined);
});

// What a peer says, and whether on and strict redirect.
const SAID: [said: string, differences: Partial<ProxyRequest>, isTrusted: boolean, on: boolean, strict: boolean][] = [
  ['a trusted http', { forwardedProto: 'http' }, true, true, true],
  ['a trusted HTTP', { forwardedProto: 'HTTP' }, true, true, true],
  ['a trusted http before https', { forwardedProto: 'http,https' }, true, true, true],
  ['a trusted ws', { forwardedProto: 'ws' }, true, true, true],
  ['a trusted https', { forwardedProto: 'https' }, true, false, false],
  ['a trusted HTTPS', { forwardedProto: 'HTTPS' }, true, false, false],
  ['a trusted https before http', { forwardedProto: 'https, http' }, true, false, false],
  ['a trusted wss', { forwardedProto: 'wss' }, true, false, false],
  ['nothing from a trusted peer', {}, true, false, true],
  ['an empty value from a trusted peer', { forwardedProto: '' }, true, false, true],
  ['an unknown scheme from a trusted peer', { forwardedProto: 'ftp' }, true, false, true],
  ["a stranger's http", { forwardedProto: 'http' }, false, false, true],
  ["a stranger's https", { forwardedProto: 'https' }, false, false, true],
  ['nothing from a stranger', {}, false, false, true],
  ['nothing over TLS of ours', { isTls: true }, false, false, false],
  ["a stranger's http over TLS of ours", { isTls: true, forwardedProto: 'http' }, false, false, false],
  ['a trusted http over TLS of ours', { isTls: true, forwardedProto: 'http' }, true, true, true],
];

for (const [said, differences, isTrusted, on, strict] of SAID) {
  for (const [forceSsl, isRedirected] of [
    ['on', on],
    ['strict', strict],
  ] as const) {
    test(`force SSL ${forceSsl} ${isRedirected ? 'redirects' : 'lets pass'} ${said}`, () => {
      assert.deepEqual(
        redirectOf({ forceSsl }, differences, { isTrusted }),
        isRedirected ? { status: 301, location: 'https://a.example/' } : undefined,
      );
    });
  }
}

const STATUSES: [method: string, status: number][] = [
  ['GET', 301],
  ['HEAD', 301],
  ['POST', 308],
  ['PUT', 308],
  ['DELETE', 308],
  ['OPTIONS', 308],
  ['QUERY', 308],
  ['get', 308],
];
for (const [method, status] of STATUSES) {
  test(`redirects ${method} by ${status}`, () => {
    assert.equal(redirectOf({ forceSsl: 'on' }, { ...overHttp, method })?.status, status);
    assert.equal(redirectOf({ canonicalHost: 'b.example' }, { method })?.status, status);
  });
}

const HOSTS: [host: string, target: string][] = [
  ['a.example', 'https://a.example/'],
  ['a.example:80', 'https://a.example/'],
  ['a.example:8080', 'https://a.example/'],
  ['a.example:', 'https://a.example/'],
  ['[::1]:80', 'https://[::1]/'],
  ['[2001:db8::1]', 'https://[2001:db8::1]/'],
  ['192.0.2.1:8080', 'https://192.0.2.1/'],
];
for (const [host, target] of HOSTS) {
  test(`force SSL sends the host "${host}" to ${target}`, () => {
    assert.equal(locationOf({ forceSsl: 'on' }, { ...overHttp, host }), target);
  });
}

const TARGETS: [path: string, query: string | undefined, rest: string][] = [
  ['/p/a', 'x=1&y=%2F', '/p/a?x=1&y=%2F'],
  ['/p', '', '/p?'],
  ['/p', '?b=1?', '/p??b=1?'],
  ['/a%2e%2E/./../b', undefined, '/a%2e%2E/./../b'],
  ['//x//y', undefined, '//x//y'],
  ['/caf\xe9', 'q=\xfc', '/caf\xe9?q=\xfc'],
  ['/p', 'next=https://evil.example/', '/p?next=https://evil.example/'],
  ['/a#b', undefined, '/a#b'],
];
for (const [path, query, rest] of TARGETS) {
  test(`keeps ${JSON.stringify(rest)} byte for byte`, () => {
    assert.equal(locationOf({ forceSsl: 'on' }, { ...overHttp, path, query }), `https://a.example${rest}`);
    assert.equal(locationOf({ canonicalHost: 'b.example' }, { path, query }), `http://b.example${rest}`);
  });
}

const EVIL_PATHS = ['//evil.example', '///evil.example', '/\\evil.example', '/@evil.example', '/.evil.example'];
for (const path of [
  ...EVIL_PATHS,
  '/:80@evil.example/',
  '/%0d%0aX-Injected:1',
  'https://evil.example/',
  '.evil.example',
]) {
  test(`no path takes the redirect to another host: ${path}`, () => {
    for (const query of [undefined, '@evil.example', '/../..//evil.example']) {
      const location = locationOf({ forceSsl: 'on' }, { ...overHttp, path, query })!;
      assert.equal(new URL(location).host, 'a.example', location);
      assert.equal(new URL(location, 'http://a.example/').host, 'a.example', location);
    }
  });
}

test('a path that does not begin with a slash is left out, so that it cannot lengthen the host', () => {
  assert.equal(locationOf({ forceSsl: 'on' }, { ...overHttp, path: '.evil.example' }), 'https://a.example');
  assert.equal(locationOf({ forceSsl: 'on' }, { ...overHttp, path: '@evil.example' }), 'https://a.example');
});

test('OPTIONS * is sent to the URL of the whole server, which has no path', () => {
  assert.deepEqual(redirectOf({ forceSsl: 'on' }, { ...overHttp, method: 'OPTIONS', path: '*' }), {
    status: 308,
    location: 'https://a.example',
  });
});

const EXEMPT: [path: string, query: string | undefined, isExempt: boolean][] = [
  ['/healthz', undefined, true],
  ['/healthz', 'full=1', true],
  ['/healthz', '', true],
  ['/healthz/', undefined, false],
  ['/healthz/x', undefined, false],
  ['/healthzz', undefined, false],
  ['/Healthz', undefined, false],
  ['//healthz', undefined, false],
  ['/health%7a', undefined, false],
  ['/a/healthz', undefined, false],
  ['/up', undefined, true],
  ['/', undefined, false],
];
for (const [path, query, isExempt] of EXEMPT) {
  const shown = query === undefined ? path : `${path}?${query}`;
  test(`${shown} is ${isExempt ? 'exempt' : 'redirected'} when /healthz and /up are exempt`, () => {
    const forceSslExempt = ['/healthz', '/up'];
    for (const config of [{ forceSsl: 'on' }, { forceSsl: 'strict' }, { canonicalHost: 'b.example' }] as const) {
      assert.equal(
        redirectOf({ ...config, forceSslExempt }, { ...overHttp, path, query }) === undefined,
        isExempt,
        JSON.stringify(config),
      );
    }
  });
}

test('the health path is never redirected, by any method, and only it exactly', () => {
  const config = { forceSsl: 'strict', canonicalHost: 'b.example', healthPath: '/_health' } as const;
  for (const method of ['GET', 'HEAD', 'POST']) {
    assert.equal(redirectOf(config, { method, path: '/_health' }), undefined);
    assert.equal(redirectOf(config, { method, path: '/_health', query: 'a' }), undefined);
  }
  assert.equal(locationOf(config, { path: '/_health/x' }), 'https://b.example/_health/x');
});

test('another host over http goes to the canonical one over https in one redirect when SSL is forced', () => {
  for (const forceSsl of ['on', 'strict'] as const) {
    assert.deepEqual(
      redirectOf(
        { forceSsl, canonicalHost: 'www.a.example' },
        { ...overHttp, host: 'a.example:8080', path: '/p', query: 'x' },
      ),
      { status: 301, location: 'https://www.a.example/p?x' },
    );
  }
});

test('the answer to a redirect is not redirected again', () => {
  const config = { forceSsl: 'strict', canonicalHost: 'www.a.example' } as const;
  const { location } = redirectOf(config, overHttp)!;
  const { host, pathname, protocol } = new URL(location);
  assert.equal(redirectOf(config, { host, path: pathname, forwardedProto: protocol.slice(0, -1) }), undefined);
});

const CANONICAL: [what: string, differences: Partial<ProxyRequest>, isTrusted: boolean, target: string | undefined][] =
  [
    ['keeps http', { host: 'a.example' }, true, 'http://b.example/'],
    ['keeps a believed https', { forwardedProto: 'https' }, true, 'https://b.example/'],
    ["does not take a stranger's https", { forwardedProto: 'https' }, false, 'http://b.example/'],
    ['keeps https of ours', { isTls: true }, false, 'https://b.example/'],
    ['keeps a port of plain http', { host: 'a.example:8080' }, true, 'http://b.example:8080/'],
    ['drops port 80', { host: 'a.example:80' }, true, 'http://b.example/'],
    [
      'drops the inner port under https',
      { host: 'a.example:8080', forwardedProto: 'https' },
      true,
      'https://b.example/',
    ],
    ['takes an address there', { host: '[::1]:8080' }, true, 'http://b.example:8080/'],
    ['takes a subdomain there', { host: 'x.b.example' }, true, 'http://b.example/'],
    ['takes a longer name there', { host: 'b.example.evil.example' }, true, 'http://b.example/'],
    ['takes a final dot away', { host: 'b.example.' }, true, 'http://b.example/'],
    ['leaves itself alone', { host: 'b.example' }, true, undefined],
    ['leaves itself alone in capitals', { host: 'B.Example' }, true, undefined],
    ['leaves itself alone with a port', { host: 'b.example:8080' }, true, undefined],
    ['leaves itself alone under https', { host: 'b.example', forwardedProto: 'https' }, true, undefined],
    ['does not ask X-Forwarded-Host', { host: 'b.example', forwardedHost: 'a.example' }, true, undefined],
  ];
for (const [what, differences, isTrusted, target] of CANONICAL) {
  test(`the canonical host ${what}`, () => {
    assert.equal(locationOf({ canonicalHost: 'b.example' }, differences, { isTrusted }), target);
  });
}

test('a canonical host in capitals is matched in any case and written as configured', () => {
  assert.equal(redirectOf({ canonicalHost: 'WWW.Example' }, { host: 'www.example' }), undefined);
  assert.equal(locationOf({ canonicalHost: 'WWW.Example' }, {}), 'http://WWW.Example/');
});

test('a canonical host with a port keeps it, and is matched by name so that no loop can come up', () => {
  const config = { canonicalHost: 'b.example:8443' };
  assert.equal(locationOf(config, { forwardedProto: 'https' }), 'https://b.example:8443/');
  assert.equal(locationOf(config, { host: 'a.example:8080' }), 'http://b.example:8443/');
  for (const host of ['b.example', 'b.example:8443', 'b.example:8080']) {
    assert.equal(redirectOf(config, { host, forwardedProto: 'https' }), undefined, host);
  }
});

test('a canonical IPv6 host keeps its brackets', () => {
  assert.equal(locationOf({ canonicalHost: '[2001:db8::1]' }, {}), 'http://[2001:db8::1]/');
  assert.equal(redirectOf({ canonicalHost: '[2001:db8::1]' }, { host: '[2001:db8::1]:8080' }), undefined);
});
