import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { parseProcfile } from '../../src/config/procfile.ts';
import { snippetsIn, snippetsOf } from '../helpers/docs.ts';
import { environmentOf, type RenderService, readYaml } from '../helpers/platform-files.ts';
import { HEROKU_YML, RENDER_YAML, undocumented } from '../helpers/platform-keys.ts';
import { inRepository } from '../helpers/repository.ts';

/**
 * What each page shows, in order: a new snippet has to be given a test. `dockerfile` and `sh` are run by
 * test/image/docs.test.ts and test/integration/docs.test.ts, `console` only a platform can run.
 */
const PAGES = {
  'base-image.md': ['dockerfile', 'sh', 'sh'],
  'compose.md': ['yaml'],
  'heroku-buildpack.md': ['console', 'procfile'],
  'heroku-container.md': ['yaml', 'console', 'console'],
  'load.md': ['sh'],
  'node.md': ['sh', 'sh', 'sh', 'sh'],
  'other-languages.md': ['dockerfile', 'dockerfile'],
  'render.md': ['yaml', 'yaml'],
};

const [DOCKER_FORM, IMAGE_FORM] = snippetsIn('render.md', 'yaml').map((text) => parse(text) as Blueprint);

interface Blueprint {
  readonly services: readonly [RenderService];
}

test('every page and every snippet is known to the tests', () => {
  deepStrictEqual(readdirSync(inRepository('docs')).sort(), Object.keys(PAGES));
  for (const [page, languages] of Object.entries(PAGES)) {
    deepStrictEqual(
      snippetsOf(page).map(({ language }) => language),
      languages,
      page,
    );
  }
});

test('links between pages lead somewhere, and the README leads to each page', () => {
  const readme = readFileSync(inRepository('README.md'), 'utf8');
  for (const page of Object.keys(PAGES)) {
    ok(readme.includes(`(docs/${page})`), `the README has no link to docs/${page}`);
    for (const [, target] of readFileSync(inRepository('docs', page), 'utf8').matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      ok(existsSync(inRepository('docs', target!.split('#')[0]!)), `${page}: ${target}`);
    }
  }
});

test('what only a platform can run are commands of its own program', () => {
  for (const page of Object.keys(PAGES)) {
    for (const text of snippetsIn(page, 'console')) {
      for (const line of text.trim().split('\n'))
        match(line, /^(heroku (stack|buildpacks|container):|git push heroku )/);
    }
  }
});

test('the Procfile of the buildpack page starts its command through uwsrp', () => {
  const [procfile] = snippetsIn('heroku-buildpack.md', 'procfile');
  deepStrictEqual([...parseProcfile(procfile!)], [['web', 'node server.js']]);
  match(procfile!, /^web: uwsrp /);
});

test('heroku.yml and both Blueprints have documented keys alone, and mean what the pages say', () => {
  const herokuYml = parse(snippetsIn('heroku-container.md', 'yaml')[0]!) as { build: { docker: { web: string } } };
  deepStrictEqual(undocumented(herokuYml, HEROKU_YML), []);
  strictEqual(dirname(herokuYml.build.docker.web), '.', 'the folder of the Dockerfile is the build context');
  for (const blueprint of [DOCKER_FORM!, IMAGE_FORM!]) {
    deepStrictEqual(undocumented(blueprint, RENDER_YAML), []);
    const [service] = blueprint.services;
    const env = { RENDER: 'true', ...environmentOf(service) };
    const { config } = loadConfig({ env, workDirectory: '/app', readFile: () => '' });
    strictEqual(config.healthPath, service.healthCheckPath);
    strictEqual(config.shutdownTimeoutMs, 25_000);
    ok(config.shutdownTimeoutMs < service.maxShutdownDelaySeconds * 1000);
  }
});

test('the Blueprint for an image is the one that is deployed in the tests', () => {
  deepStrictEqual(IMAGE_FORM, readYaml(join('docker', 'render-image.yaml')));
});

test('the commands of the load page are scenarios that there are', () => {
  const [commands] = snippetsIn('load.md', 'sh');
  for (const line of commands!.trim().split('\n')) {
    const [, scenario = 'smoke'] = /npm run load(?: (\w+))?(?: --|\s+#|$)/.exec(line)!;
    ok(existsSync(inRepository('test', 'load', `${scenario}.ts`)), line);
  }
});
