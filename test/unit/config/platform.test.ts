import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneOffDyno, recognisePlatform } from '../../../src/config/platform.ts';

test('each platform is recognised by the marks it leaves', () => {
  assert.equal(recognisePlatform({ DYNO: 'web.1' }), 'heroku');
  assert.equal(recognisePlatform({ RENDER: 'true' }), 'render');
  assert.equal(recognisePlatform({ FLY_APP_NAME: 'app' }), 'fly');
  assert.equal(recognisePlatform({ RAILWAY_ENVIRONMENT: 'production' }), 'railway');
  assert.equal(recognisePlatform({ RAILWAY_ENVIRONMENT_NAME: 'production' }), 'railway');
  assert.equal(recognisePlatform({ K_SERVICE: 'hello' }), 'cloud-run');
  assert.equal(recognisePlatform({ SCALINGO_APPLICATION_ID: 'ap-1' }), 'scalingo');
  assert.equal(recognisePlatform({ APP_PLATFORM_COMPONENT_TYPE: 'service' }), 'app-platform');
  assert.equal(recognisePlatform({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }), 'kubernetes');
});

test('Dokku is not taken for Heroku, though it sets DYNO', () => {
  assert.equal(recognisePlatform({ DYNO: 'web.1', DOKKU_APP_TYPE: 'dockerfile' }), 'dokku');
  assert.equal(recognisePlatform({ DYNO: 'web.1', DOKKU_APP_RESTORE: '1' }), 'dokku');
});

test('Kubernetes comes last, for other platforms run on it', () => {
  for (const [mark, platform] of [
    ['DYNO', 'heroku'],
    ['RENDER', 'render'],
    ['K_SERVICE', 'cloud-run'],
    ['SCALINGO_APPLICATION_ID', 'scalingo'],
    ['APP_PLATFORM_COMPONENT_TYPE', 'app-platform'],
  ] as const) {
    assert.equal(recognisePlatform({ KUBERNETES_SERVICE_HOST: '10.0.0.1', [mark]: 'x' }), platform);
  }
});

test('without a mark, or with an empty one, no platform is recognised', () => {
  assert.equal(recognisePlatform({}), undefined);
  assert.equal(recognisePlatform({ PORT: '80', DYNO: '', RENDER: undefined }), undefined);
});

test('a dyno is a one-off unless its type is web', () => {
  for (const dyno of ['web.1', 'web', 'web-7c5f9d-x2k9p', 'web.12'])
    assert.equal(isOneOffDyno({ DYNO: dyno }), false, dyno);
  for (const dyno of [
    'run.4163',
    'release.1',
    'worker.1',
    'worker-7c5f-x2',
    'scheduler.9',
    'webhook.1',
    'website-1',
    '.1',
  ]) {
    assert.equal(isOneOffDyno({ DYNO: dyno }), true, dyno);
  }
  assert.equal(isOneOffDyno({}), false);
  assert.equal(isOneOffDyno({ DYNO: '' }), false);
});
