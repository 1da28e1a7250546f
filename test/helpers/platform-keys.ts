/**
 * The keys that each platform documents for its file. A text pattern or a type name says what a value may be; `*` stands
 * for any name, an array for a list of such items, several forms are alternatives.
 */
export type Shape =
  | 'string'
  | 'number'
  | 'boolean'
  | RegExp
  | readonly [Shape]
  | AnyOf
  | { readonly [key: string]: Shape };

class AnyOf {
  readonly shapes: readonly Shape[];

  constructor(...shapes: Shape[]) {
    this.shapes = shapes;
  }
}

/** https://devcenter.heroku.com/articles/build-docker-images-heroku-yml */
export const HEROKU_YML: Shape = {
  setup: { addons: [{ plan: 'string', as: 'string' }], config: { '*': 'string' } },
  build: { docker: { '*': 'string' }, config: { '*': 'string' } },
  release: { image: 'string', command: ['string'] },
  run: { '*': new AnyOf('string', { command: ['string'], image: 'string' }) },
};

const FORMATION: Shape = { '*': { quantity: 'number', size: 'string' } };
const VARIABLE: Shape = { description: 'string', value: 'string', required: 'boolean', generator: /^secret$/ };

/**
 * https://devcenter.heroku.com/articles/app-json-schema, and Dokku's healthchecks:
 * https://dokku.com/docs/appendices/file-formats/app-json/
 */
export const APP_JSON: Shape = {
  name: /^.{1,30}$/,
  description: 'string',
  keywords: ['string'],
  website: 'string',
  repository: 'string',
  logo: 'string',
  success_url: 'string',
  scripts: { '*': new AnyOf('string', { command: 'string', size: 'string' }) },
  env: { '*': VARIABLE },
  formation: FORMATION,
  addons: [new AnyOf('string', { plan: 'string', as: 'string', options: { '*': 'string' } })],
  buildpacks: [{ url: 'string' }],
  environments: { '*': { env: { '*': VARIABLE }, formation: FORMATION, scripts: { '*': 'string' } } },
  stack: /^(container|heroku-\d\d)$/,
  healthchecks: {
    '*': [
      { type: /^(startup|liveness|readiness)$/, name: 'string', path: /^\//, attempts: 'number', timeout: 'number' },
    ],
  },
};

/** https://render.com/docs/blueprint-spec */
export const RENDER_YAML: Shape = {
  services: [
    {
      type: /^(web|pserv|worker|cron|keyvalue)$/,
      name: 'string',
      runtime: /^(docker|image|node|python|ruby|go|rust|elixir|static)$/,
      region: 'string',
      plan: 'string',
      branch: 'string',
      repo: 'string',
      rootDir: 'string',
      dockerfilePath: 'string',
      dockerContext: 'string',
      dockerCommand: 'string',
      image: { url: 'string', creds: { fromRegistryCreds: { name: 'string' } } },
      registryCredential: { fromRegistryCreds: { name: 'string' } },
      healthCheckPath: /^\//,
      preDeployCommand: 'string',
      maxShutdownDelaySeconds: 'number',
      numInstances: 'number',
      autoDeployTrigger: /^(commit|checksPass|off)$/,
      domains: ['string'],
      buildFilter: { paths: ['string'], ignoredPaths: ['string'] },
      envVars: [
        new AnyOf(
          { key: 'string', value: 'string' },
          { key: 'string', generateValue: 'boolean' },
          { key: 'string', sync: 'boolean' },
          { fromGroup: 'string' },
        ),
      ],
    },
  ],
  previews: { generation: /^(off|manual|automatic)$/, expireAfterDays: 'number' },
};

/** What of a file its platform does not document, each with its place: `services[0].colour is not a key`. */
export function undocumented(value: unknown, shape: Shape, place = ''): string[] {
  if (shape instanceof AnyOf) {
    const tries = shape.shapes.map((each) => undocumented(value, each, place));
    return tries.sort((a, b) => a.length - b.length)[0]!;
  }
  if (typeof shape === 'string') return typeof value === shape ? [] : [`${place} is no ${shape}`];
  if (shape instanceof RegExp) return shape.test(String(value)) ? [] : [`${place} is ${String(value)}`];
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${place} is no list`];
    return value.flatMap((item, at) => undocumented(item, shape[0] as Shape, `${place}[${at}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${place} has no keys`];
  const keys = shape as Readonly<Record<string, Shape>>;
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = keys[key] ?? keys['*'];
    const where = place === '' ? key : `${place}.${key}`;
    return inner === undefined ? [`${where} is not a key`] : undocumented(item, inner, where);
  });
}
