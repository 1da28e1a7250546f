import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isServiceLink } from '../../../src/config/service-links.ts';

test('what Kubernetes injects for a Service called uwsrp is a service link', () => {
  for (const [name, value] of [
    ['UWSRP_SERVICE_HOST', '10.0.0.11'],
    ['UWSRP_SERVICE_PORT', '80'],
    ['UWSRP_SERVICE_PORT_HTTP', '80'],
    ['UWSRP_SERVICE_PORT_WEB_ALT', '81'],
    ['UWSRP_PORT', 'tcp://10.0.0.11:80'],
    ['UWSRP_PORT_80_TCP', 'tcp://10.0.0.11:80'],
    ['UWSRP_PORT_80_TCP_PROTO', 'tcp'],
    ['UWSRP_PORT_80_TCP_PORT', '80'],
    ['UWSRP_PORT_80_TCP_ADDR', '10.0.0.11'],
    ['UWSRP_PORT_53_UDP', 'udp://10.0.0.11:53'],
    ['UWSRP_APP_PORT', 'tcp://10.0.0.12:80'],
    ['UWSRP_APP_SERVICE_HOST', '10.0.0.12'],
  ] as const) {
    assert.equal(isServiceLink(name, value), true, name);
  }
});

test('settings and mistakes are no service links', () => {
  for (const [name, value] of [
    ['UWSRP_APP_PORT', '3000'],
    ['UWSRP_PORT', '8080'],
    ['UWSRP_PORT', 'http://10.0.0.1'],
    ['UWSRP_PORT_TCP', '80'],
    ['UWSRP_SERVICE', 'x'],
    ['OTHER_SERVICE_HOST', '10.0.0.1'],
    ['UWSRP_SERVICE_PORTS', '80'],
    ['UWSRP_HOST', 'tcp://10.0.0.1:80'],
  ] as const) {
    assert.equal(isServiceLink(name, value), false, name);
  }
});
