import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostWithoutPort, isValidHost, portOfHost } from '../../../src/proxy/host.ts';

const VALID: Record<string, string> = {
  'a name': 'a.example',
  'one label': 'localhost',
  'a name in capitals': 'A.Example',
  'a name with hyphens and digits': 'x-1.a2.example',
  'a name with an underscore': 'my_service.internal',
  'a name that begins with an underscore': '_dmarc.example',
  'a name that ends with a dot': 'a.example.',
  'a name in IDNA form': 'xn--bcher-kva.example',
  'the sub-delimiters of RFC 3986 but the comma': "a!$&'()*+;=.example",
  'a tilde': '~a.example',
  'an IPv4 address': '192.0.2.1',
  'a bracketed IPv6 address': '[2001:db8::1]',
  'a bracketed IPv4-mapped address': '[::ffff:192.0.2.1]',
  'a name with a port': 'a.example:8080',
  'an IPv4 address with a port': '192.0.2.1:80',
  'an IPv6 address with a port': '[::1]:80',
  'a port of nines': 'a.example:9999',
  'the lowest port': 'a.example:0',
  'the highest port': 'a.example:65535',
  'a port with leading zeros': 'a.example:00080',
  'an empty port': 'a.example:',
  'an empty port after IPv6': '[::1]:',
  'a name of 255 chars': `${'a.'.repeat(127)}a`,
};

const INVALID: Record<string, string> = {
  nothing: '',
  'a blank': ' ',
  'a list': 'a, b',
  'a list without blanks': 'a,b',
  'a slash': 'a/b',
  'a backslash': 'a\\b',
  'user information': 'user@a.example',
  'user information with a password': 'user:password@a.example',
  'a blank inside': 'a b',
  'a blank in front': ' a.example',
  'a blank behind': 'a.example ',
  'a tab': 'a\tb',
  'a line end': 'a.example\r\nX-Injected: 1',
  'a bare line feed': 'a\nb',
  'a NUL': 'a\0b',
  'a delete char': 'a\x7fb',
  'a question mark': 'a.example?b',
  'a hash': 'a.example#b',
  'a quote': 'a"b',
  'an angle bracket': 'a<b',
  'a pipe': 'a|b',
  'a percent sign': 'a%b',
  'a percent-encoded slash': 'a%2fb',
  'a percent-encoded letter': '%61.example',
  'a latin-1 letter': 'b\xfccher.example',
  'a letter beyond latin-1': 'a\u212a.example',
  'a leading dot': '.a.example',
  'a dot alone': '.',
  'an empty label': 'a..example',
  'two dots alone': '..',
  'a whole URL': 'http://a.example',
  'a port alone': ':80',
  'a port of six digits': 'a.example:000080',
  'a port above 65535': 'a.example:65536',
  'a port with a sign': 'a.example:+80',
  'a port with a letter': 'a.example:8o',
  'a port with a blank': 'a.example: 80',
  'two ports': 'a.example:80:80',
  'IPv6 without brackets': '2001:db8::1',
  'IPv6 that is not closed': '[::1',
  'IPv6 that is not opened': '::1]',
  'empty brackets': '[]',
  'a name in brackets': '[a.example]',
  'IPv4 in brackets': '[192.0.2.1]',
  'IPv6 with a zone': '[fe80::1%eth0]',
  'IPv6 with an encoded zone': '[fe80::1%25eth0]',
  'a future address': '[v1.a]',
  'something behind the bracket': '[::1]a',
  'two addresses': '[::1][::1]',
  'a name in front of an address': 'a[::1]',
  'a name of 256 chars': 'a'.repeat(256),
};

for (const [what, host] of Object.entries(VALID)) {
  test(`accepts a host with ${what}`, () => {
    assert.equal(isValidHost(host), true);
    assert.equal(isValidHost(host), true, 'asked again');
  });
}

for (const [what, host] of Object.entries(INVALID)) {
  test(`refuses a host with ${what}`, () => {
    assert.equal(isValidHost(host), false);
    assert.equal(isValidHost(host), false, 'asked again');
  });
}

test('a refused host is not taken for the valid one before it', () => {
  assert.equal(isValidHost('a.example'), true);
  assert.equal(isValidHost('a.example/'), false);
  assert.equal(isValidHost(''), false);
  assert.equal(isValidHost('a.example'), true);
});

test('no char beyond printable ASCII is part of a host', () => {
  for (let code = 0; code < 0x300; code++) {
    if (code > 0x20 && code < 0x7f) continue;
    assert.equal(isValidHost(`a${String.fromCharCode(code)}b`), false, `char ${code}`);
  }
});

const PARTS: [host: string, name: string, port: string | undefined][] = [
  ['a.example', 'a.example', undefined],
  ['a.example:8080', 'a.example', '8080'],
  ['a.example:', 'a.example', undefined],
  ['192.0.2.1:80', '192.0.2.1', '80'],
  ['[2001:db8::1]', '[2001:db8::1]', undefined],
  ['[2001:db8::1]:443', '[2001:db8::1]', '443'],
  ['[::1]:', '[::1]', undefined],
  ['', '', undefined],
];

for (const [host, name, port] of PARTS) {
  test(`takes "${host}" for the name "${name}" and ${port === undefined ? 'no port' : `the port ${port}`}`, () => {
    assert.equal(hostWithoutPort(host), name);
    assert.equal(portOfHost(host), port);
  });
}
