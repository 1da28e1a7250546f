import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { aptOfThisHost, buildImage, type CleanUp, debianImage, hostSetting } from './docker.ts';
import { snippetsIn } from './docs.ts';
import { inRepository } from './repository.ts';

/** Where the image below has the slug of the example app, which brings its own Node. */
export const SLUG = '/app';
/** And an app in Python, which is still to be compiled. */
export const PYTHON_SOURCE = '/source/python';

/** What of this repository the buildpack is made of: a checkout has neither node_modules nor anything built. */
const BUILDPACK = ['bin', 'src', 'docker/boot', 'docker/launcher', 'docker/versions.sh', 'package.json'];
BUILDPACK.push('package-lock.json', 'tsconfig.json', '.npmrc', 'LICENSE');

/** What the Node buildpack leaves in a slug: a Node of its own, and the script that puts it on the app's PATH. */
const NODE_PROFILE = `export PATH="$HOME/.heroku/node/bin:$PATH" NODE_HOME="$HOME/.heroku/node" NODE_ENV="production"\n`;

/** Says what a worker dyno has of ours: its own PORT, and neither a Node nor a variable. */
const WORKER = `sh -c 'echo "PORT=$PORT DYNO=$DYNO"; command -v node || echo no node; env | grep -E "^(NODE|UWSRP)" | sort; exit 5'`;

/**
 * Builds an image that has what a stack of Heroku's has, and no Node; in it the buildpack has compiled the example app as
 * the platform does it (logs in /logs, the cache in /cache), in another folder than that where a dyno has it. The image's
 * entrypoint is a dyno. Gives the tag.
 */
export async function buildSlug(t: CleanUp): Promise<string> {
  const dockerfile = `
    FROM ${await debianImage()}
    ${aptOfThisHost.line}
    RUN apt-get update && apt-get install -y --no-install-recommends python3
    RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl libstdc++6
    COPY ca.pem /
    RUN cat /ca.pem >>/etc/ssl/certs/ca-certificates.crt
    COPY --from=uwsrp/node /opt/uwsrp/bin/node /opt/node-of-the-app
    COPY --from=uwsrp/demo /app/examples/express-websocket /source/express
    COPY buildpack /buildpack
    COPY source /source
    COPY config-vars /config-vars
    RUN mkdir /logs /cache && cd /buildpack/bin && chmod +x detect compile release && export STACK=heroku-24 \\
     && mkdir -p /source/express/.heroku/node/bin && ln -s /opt/node-of-the-app /source/express/.heroku/node/bin/node \\
     && cp -R /source/express /tmp/build_1234 && cd /tmp \\
     && { /buildpack/bin/detect build_1234 >/logs/detect \\
       && /buildpack/bin/compile /tmp/build_1234 /cache /config-vars >/logs/compile 2>&1 \\
       && /buildpack/bin/release /tmp/build_1234 >/logs/release || { cat /logs/*; exit 1; }; } \\
     && mv build_1234 ${SLUG}
    COPY dyno /
    ENTRYPOINT ["/bin/bash", "/dyno"]`;
  return buildImage(t, dockerfile, { ...aptOfThisHost.files, ...context() });
}

function context(): Record<string, string | Buffer> {
  const files: Record<string, string | Buffer> = {
    'ca.pem': hostSetting('ca.pem'),
    dyno: readFileSync(inRepository('test', 'fixtures', 'dyno.sh')),
    'source/express/.profile.d/nodejs.sh': NODE_PROFILE,
    'source/express/Procfile': `${snippetsIn('heroku-buildpack.md', 'procfile').join('')}worker: uwsrp ${WORKER}\n`,
    'source/python/app.py': readFileSync(inRepository('test', 'fixtures', 'apps', 'python_websocket.py')),
    'source/python/Procfile': `web: uwsrp python3 app.py\nworker: uwsrp ${WORKER}\n`,
    // Meant for the app's own install; uwsrp's must not follow it.
    'config-vars/NODE_ENV': 'development',
    'config-vars/NPM_CONFIG_OMIT': 'optional',
  };
  const registry = /^registry=(.+)$/m.exec(hostSetting('npmrc'))?.[1];
  if (registry) files['config-vars/NPM_CONFIG_REGISTRY'] = registry;
  if (files['ca.pem'] !== '') files['config-vars/NODE_EXTRA_CA_CERTS'] = '/ca.pem';
  for (const name of BUILDPACK) addFiles(files, name);
  return files;
}

function addFiles(files: Record<string, string | Buffer>, name: string): void {
  const path = inRepository(name);
  if (statSync(path).isDirectory()) for (const entry of readdirSync(path)) addFiles(files, join(name, entry));
  else files[join('buildpack', name)] = readFileSync(path);
}
