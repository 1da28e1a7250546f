import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { inRepository } from './repository.ts';

/** The parts of Heroku's and Render's files that tests act on. */
export interface HerokuYml {
  readonly setup: { readonly config: Readonly<Record<string, string>> };
  readonly build: { readonly docker: Readonly<Record<string, string>> };
}

export interface AppJson {
  readonly env: Readonly<Record<string, { readonly value: string }>>;
  readonly formation: Readonly<Record<string, { readonly quantity: number }>>;
  readonly healthchecks: { readonly web: readonly { readonly path: string }[] };
}

export interface RenderService {
  readonly runtime: 'docker' | 'image';
  readonly dockerfilePath?: string;
  readonly dockerContext?: string;
  readonly image?: { readonly url: string };
  readonly healthCheckPath: string;
  readonly maxShutdownDelaySeconds: number;
  readonly envVars: readonly { readonly key: string; readonly value: string }[];
}

export const readYaml = (...path: string[]): unknown => parse(readFileSync(inRepository(...path), 'utf8'));

export const herokuYml = () => readYaml('heroku.yml') as HerokuYml;
export const appJson = () => readYaml('app.json') as AppJson;

/** The web service of a Blueprint of ours, which has that one. */
export function renderService(...path: string[]): RenderService {
  const { services } = readYaml(...path) as { services: [RenderService] };
  return services[0];
}

export function environmentOf({ envVars }: RenderService): Record<string, string> {
  return Object.fromEntries(envVars.map(({ key, value }) => [key, value]));
}
