import { readFileSync } from 'node:fs';

/** Version of an installed package, `folder` being `bench/` or the product's own: a URL that ends with a slash. */
export function installedVersion(name, folder = new URL('../', import.meta.url)) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, folder), 'utf8')).version;
}

/** Version of the product. */
export const productVersion = () =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
