import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppAddress } from '../../../src/supervisor/app-address.ts';
import { explainWrongPort } from '../../../src/supervisor/wrong-port.ts';

const CONFIG = { appPort: undefined, appPortVariable: 'PORT', appSocket: undefined, port: 8080 };
const CHOSEN: AppAddress = { value: '43211', port: 43211, candidates: [], isOurChoice: true };
const on = (port: number, address = '127.0.0.1') => ({ pid: 1, port, address });

test('a command on a port of its own is told what to change', () => {
  assert.equal(
    explainWrongPort([on(3000)], CHOSEN, CONFIG),
    'the command listens on 3000, but PORT is 43211: make it read $PORT or set UWSRP_APP_PORT=3000',
  );
  assert.equal(
    explainWrongPort([on(9229), on(3000, '::'), on(3000, '0.0.0.0')], CHOSEN, {
      ...CONFIG,
      appPortVariable: 'APP_PORT',
    }),
    'the command listens on 3000 and 9229, but APP_PORT is 43211: make it read $APP_PORT or set UWSRP_APP_PORT=3000',
  );
});

test('the public port is no private port to propose', () => {
  assert.equal(
    explainWrongPort([on(8080)], CHOSEN, CONFIG),
    'the command listens on 8080, but PORT is 43211: make it read $PORT (8080 is the public port, which uwsrp serves itself)',
  );
});

test('a wrong UWSRP_APP_PORT is named', () => {
  const given = { ...CHOSEN, value: '4000', port: 4000, isOurChoice: false };
  assert.equal(
    explainWrongPort([on(3000)], given, { ...CONFIG, appPort: 4000 }),
    'the command listens on 3000, but UWSRP_APP_PORT is 4000, which it got as PORT: make it read $PORT or set UWSRP_APP_PORT=3000',
  );
});

test('a port where a socket was asked for is told', () => {
  const socket = { ...CHOSEN, value: '/tmp/app.sock', port: undefined, isOurChoice: false };
  assert.equal(
    explainWrongPort([on(3000)], socket, { ...CONFIG, appSocket: '/tmp/app.sock' }),
    'the command listens on 3000, but PORT is the socket /tmp/app.sock: make it listen there, or unset UWSRP_APP_SOCKET',
  );
});

test('the right port on an address that is not loopback is told', () => {
  assert.equal(
    explainWrongPort([on(43211, '172.17.0.2')], CHOSEN, CONFIG),
    'the command listens on 172.17.0.2 only: make it listen on 127.0.0.1',
  );
});

test('nothing is said of a command that listens where it should, or nowhere', () => {
  assert.equal(explainWrongPort([on(43211), on(3000)], CHOSEN, CONFIG), undefined);
  assert.equal(explainWrongPort([], CHOSEN, CONFIG), undefined);
});
