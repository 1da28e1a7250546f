import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { aptOfThisHost, buildImage, type CleanUp, debianImage, inspectImage, npmOfThisHost } from './docker.ts';
import { inRepository } from './repository.ts';

/** The folders of examples/. */
export const exampleNames = (): string[] => readdirSync(inRepository('examples')).sort();

/** Builds an example from its own Dockerfile, with npm and apt set up as on this host. Gives the tag. */
export async function buildExample(t: CleanUp, name: string): Promise<string> {
  const { Dockerfile, ...files } = filesOf(inRepository('examples', name));
  const debian = `FROM ${await debianImage()}\n${aptOfThisHost.line}`;
  const dockerfile = String(Dockerfile).replace(/^FROM debian:trixie-slim$/m, debian);
  const npmrc = files['.npmrc'] && { '.npmrc': `${files['.npmrc']}\n${npmOfThisHost()}` };
  return buildImage(t, dockerfile, { ...files, ...npmrc, ...aptOfThisHost.files });
}

/** Redis by the name of an official image: that one where it has been pulled, else one from Debian's package. Gives the tag. */
export async function redisImage(t: CleanUp, official: string): Promise<string> {
  if (await inspectImage(official)) return official;
  const dockerfile = `
    FROM ${await debianImage()}
    ${aptOfThisHost.line}
    RUN apt-get update && apt-get install -y --no-install-recommends redis-server
    WORKDIR /var/lib/redis
    USER redis
    CMD ["redis-server", "--protected-mode", "no"]`;
  return buildImage(t, dockerfile, aptOfThisHost.files);
}

function filesOf(folder: string, prefix = ''): Record<string, Buffer> {
  const files: Record<string, Buffer> = {};
  for (const name of readdirSync(join(folder, prefix))) {
    const path = join(prefix, name);
    if (name === 'node_modules') continue;
    if (statSync(join(folder, path)).isDirectory()) Object.assign(files, filesOf(folder, path));
    else files[path] = readFileSync(join(folder, path));
  }
  return files;
}
