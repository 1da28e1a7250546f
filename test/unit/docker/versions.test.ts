import { match, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inRepository } from '../../helpers/repository.ts';

const read = (...path: string[]) => readFileSync(inRepository(...path), 'utf8');
const pinned = new Map(
  [...read('docker', 'versions.sh').matchAll(/^readonly (\w+)=(\S+)$/gm)].map(([, a, b]) => [a, b]),
);

test('the pinned Node is of the line that the official image has', () => {
  const [, line] = /^ARG NODE_IMAGE=node:(\d+)-/m.exec(read('docker', 'Dockerfile'))!;
  strictEqual(pinned.get('NODE_VERSION')!.split('.')[0], line);
});

test('each download of the buildpack has an integrity', () => {
  for (const name of ['NODE_X64', 'NODE_ARM64', 'NPM'])
    match(pinned.get(`${name}_INTEGRITY`)!, /^sha512-[\w+/]{86}==$/);
});

test('the base image that docker/setup builds takes the same versions', () => {
  ok(read('docker', 'steps', 'base-images.sh').includes('"$package@$NODE_VERSION" "npm@$NPM_VERSION"'));
});
