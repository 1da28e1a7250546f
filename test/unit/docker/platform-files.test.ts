import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { inRepository } from '../../helpers/repository.ts';

const read = (name: string) => readFileSync(inRepository(name), 'utf8');
/** The value of a key that is there once in a YAML file of ours. */
const valueIn = (yaml: string, key: string) => new RegExp(`^[ -]*${key}: *(.+)$`, 'm').exec(yaml)?.[1];

const configured = (env: Record<string, string>) =>
  loadConfig({ env, workDirectory: '/app', readFile: () => '' }).config;

test('the Procfile starts the demo, and the demo is there', () => {
  const [, file] = /^web: uwsrp node (\S+)$/m.exec(read('Procfile'))!;
  ok(existsSync(inRepository(file!)));
});

test('a build of the Dockerfile without a target gives the demo, as Render and Dokku build it', () => {
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

test('render.yaml builds that Dockerfile and asks the health path that it sets', () => {
  const render = read('render.yaml');
  ok(existsSync(inRepository(valueIn(render, 'dockerfilePath')!)));
  strictEqual(valueIn(render, 'runtime'), 'docker');
  strictEqual(valueIn(render, 'key'), 'UWSRP_HEALTH_PATH');
  strictEqual(
    configured({ UWSRP_HEALTH_PATH: valueIn(render, 'value')! }).healthPath,
    valueIn(render, 'healthCheckPath'),
  );
});

test('app.json holds what Heroku and Dokku read, and variables that we take', () => {
  const app = JSON.parse(read('app.json'));
  const variables = Object.entries(app.env as Record<string, { value: string }>).map(([name, { value }]) => [
    name,
    value,
  ]);
  strictEqual(configured(Object.fromEntries(variables)).forceSsl, 'on');
  ok(app.name.length <= 30);
  deepStrictEqual(Object.keys(app.formation), ['web']);
  strictEqual(app.healthchecks.web[0].path, '/');
});

test('compose.yaml builds the demo from the root of the repository', () => {
  const compose = read('docker/compose.yaml');
  strictEqual(valueIn(compose, 'context'), '..');
  ok(existsSync(inRepository(valueIn(compose, 'dockerfile')!)));
  strictEqual(valueIn(compose, 'target'), 'demo');
});
