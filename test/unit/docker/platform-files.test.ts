import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { appJson, environmentOf, herokuYml, readYaml, renderService } from '../../helpers/platform-files.ts';
import { APP_JSON, HEROKU_YML, RENDER_YAML, undocumented } from '../../helpers/platform-keys.ts';
import { inRepository } from '../../helpers/repository.ts';

const BLUEPRINTS = [['render.yaml'], ['docker', 'render-image.yaml']];

const read = (name: string) => readFileSync(inRepository(name), 'utf8');
const configured = (env: Record<string, string>) =>
  loadConfig({ env, workDirectory: '/app', readFile: () => '' }).config;

test('every key is one that its platform documents', () => {
  deepStrictEqual(undocumented(readYaml('heroku.yml'), HEROKU_YML), []);
  deepStrictEqual(undocumented(readYaml('app.json'), APP_JSON), []);
  for (const path of BLUEPRINTS) deepStrictEqual(undocumented(readYaml(...path), RENDER_YAML), [], path.join('/'));
});

test('a key or value that no platform documents would be found', () => {
  const render = {
    services: [{ type: 'web', healthcheckPath: '/', runtime: 'podman', envVars: [{ key: 'A', val: '' }] }],
  };
  deepStrictEqual(undocumented(render, RENDER_YAML), [
    'services[0].healthcheckPath is not a key',
    'services[0].runtime is podman',
    'services[0].envVars[0].val is not a key',
  ]);
  deepStrictEqual(undocumented({ setup: { config: { PORT: 1 } }, build: [] }, HEROKU_YML), [
    'setup.config.PORT is no string',
    'build has no keys',
  ]);
});

test('the Procfile starts the demo, and the demo is there', () => {
  const [, file] = /^web: uwsrp node (\S+)$/m.exec(read('Procfile'))!;
  ok(existsSync(inRepository(file!)));
});

test('a build of the Dockerfile without a target gives the demo, as Heroku, Render and Dokku build it', () => {
  const stages = [...read('docker/Dockerfile').matchAll(/^FROM (\S+) AS (\S+)$/gm)].map(([, from, name]) => [
    from,
    name,
  ]);
  deepStrictEqual(stages.at(-1), ['uwsrp', 'demo']);
});

test('the Dockerfile keeps to what the classic builder knows', () => {
  const dockerfile = read('docker/Dockerfile').replaceAll(/^ *#.*$/gm, '');
  ok(!/<<|--mount|--chmod|--link|TARGETARCH|TARGETPLATFORM|^# *syntax/m.test(dockerfile));
});

test('heroku.yml builds that Dockerfile by the link whose folder is the build context', () => {
  const { build, setup } = herokuYml();
  strictEqual(dirname(build.docker.web!), '.');
  strictEqual(realpathSync(inRepository(build.docker.web!)), realpathSync(inRepository('docker', 'Dockerfile')));
  strictEqual(configured(setup.config).forceSsl, 'on');
});

test('render.yaml builds that Dockerfile in the root', () => {
  const { runtime, dockerfilePath, dockerContext } = renderService('render.yaml');
  strictEqual(runtime, 'docker');
  ok(existsSync(inRepository(dockerfilePath!)));
  strictEqual(dockerContext, '.');
});

test('both Blueprints ask the health path that they set, and leave uwsrp the time that it takes to stop', () => {
  for (const path of BLUEPRINTS) {
    const service = renderService(...path);
    const config = configured({ RENDER: 'true', ...environmentOf(service) });
    strictEqual(config.healthPath, service.healthCheckPath);
    ok(config.shutdownTimeoutMs < service.maxShutdownDelaySeconds * 1000);
  }
});

test('app.json holds what Heroku and Dokku read, and variables that we take', () => {
  const { env, formation, healthchecks } = appJson();
  const variables = Object.entries(env).map(([name, { value }]) => [name, value]);
  strictEqual(configured(Object.fromEntries(variables)).forceSsl, 'on');
  deepStrictEqual(formation, { web: { quantity: 1 } });
  strictEqual(healthchecks.web[0]!.path, '/');
});

test('compose.yaml builds the demo from the root of the repository', () => {
  const { services } = readYaml('docker', 'compose.yaml') as {
    services: { demo: { build: { context: string; dockerfile: string; target: string } } };
  };
  const { context, dockerfile, target } = services.demo.build;
  deepStrictEqual([context, target], ['..', 'demo']);
  ok(existsSync(inRepository(dockerfile)));
});
