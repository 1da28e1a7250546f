import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inRepository } from './repository.ts';

/** How a program ended, and what it said. */
export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the docker client. */
export async function docker(...words: readonly string[]): Promise<Run> {
  const child = spawn('docker', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  const [exitCode, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { exitCode, stdout, stderr };
}

/** A test, or a whole file: `{ after }` of node:test. */
export interface CleanUp {
  after(clean: () => unknown): void;
}

/** The part of `docker image inspect` that tests look at. */
export interface ImageInfo {
  /** Bytes, uncompressed. */
  readonly Size: number;
  readonly Config: {
    readonly Entrypoint: string[] | null;
    readonly Cmd: string[] | null;
    readonly Env: string[];
    readonly ExposedPorts?: Record<string, unknown>;
    readonly Healthcheck?: unknown;
    readonly Labels: Record<string, string>;
    readonly User: string;
    readonly WorkingDir: string;
  };
}

/** What Docker knows of an image; undefined when there is none of that name. */
export async function inspectImage(image: string): Promise<ImageInfo | undefined> {
  const { exitCode, stdout } = await docker('image', 'inspect', image);
  return exitCode === 0 ? (JSON.parse(stdout) as ImageInfo[])[0] : undefined;
}

/** The plain Debian 13 that `docker/setup` chose: the official one, or its own where that cannot be pulled. */
export async function debianImage(): Promise<string> {
  const { DEBIAN_IMAGE } = process.env;
  if (DEBIAN_IMAGE) return DEBIAN_IMAGE;
  return (await inspectImage('debian:trixie-slim')) ? 'debian:trixie-slim' : 'uwsrp/base-debian:trixie-slim';
}

/** Node on it, by the same rule. */
async function nodeImage(): Promise<string> {
  const { NODE_IMAGE } = process.env;
  if (NODE_IMAGE) return NODE_IMAGE;
  return (await inspectImage('node:24-trixie-slim')) ? 'node:24-trixie-slim' : 'uwsrp/base-node:24-trixie-slim';
}

/** Files of a build context that let apt work in the build as it does on this host, and the line that puts them in. */
export const aptOfThisHost = {
  line: 'COPY apt.conf /etc/apt/apt.conf.d/99host',
  files: { 'apt.conf': hostSetting('apt.conf') },
};

/** Lines of an .npmrc that let npm work in a build as it does on this host: registry, proxy, certificate authorities. */
export function npmOfThisHost(): string {
  const authorities = hostSetting('ca.pem');
  return `${hostSetting('npmrc')}${authorities && `ca=${JSON.stringify(authorities)}\n`}`;
}

/** A file of docker/.local/host, where docker/setup puts what this host needs; empty when there is none. */
export function hostSetting(name: string): string {
  const path = inRepository('docker', '.local', 'host', name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/**
 * Builds an image from a Dockerfile and files beside it, by the docker client (testcontainers hides why a build
 * failed), and removes its tag after the test. Gives the tag.
 */
export async function buildImage(
  t: CleanUp,
  dockerfile: string,
  files: Readonly<Record<string, string | Buffer>> = {},
): Promise<string> {
  const context = mkdtempSync(join(tmpdir(), 'uwsrp-build-'));
  t.after(() => rmSync(context, { recursive: true }));
  for (const [name, content] of Object.entries({ ...files, Dockerfile: dockerfile })) {
    mkdirSync(dirname(join(context, name)), { recursive: true });
    writeFileSync(join(context, name), content);
  }
  const tag = basename(context).toLowerCase();
  // The layers stay: they are the cache of the next run.
  t.after(() => docker('image', 'rm', '--force', '--no-prune', tag));
  const build = await docker('build', '--tag', tag, context);
  if (build.exitCode !== 0) throw new Error(`docker build failed:\n${build.stdout}\n${build.stderr}`);
  return tag;
}

/** Builds a Dockerfile of this repository in a folder of it, as a platform does (no target, no version). Gives the tag. */
export async function buildFromRepository(t: CleanUp, dockerfile: string, context: string): Promise<string> {
  const tag = `uwsrp-test-${randomBytes(8).toString('hex')}`;
  t.after(() => docker('image', 'rm', '--force', '--no-prune', tag));
  const bases = [`NODE_IMAGE=${await nodeImage()}`, `DEBIAN_IMAGE=${await debianImage()}`];
  const settings = bases.flatMap((base) => ['--build-arg', base]);
  const words = ['--tag', tag, '--file', inRepository(dockerfile), ...settings, inRepository(context)];
  const build = await docker('build', ...words);
  if (build.exitCode !== 0) throw new Error(`docker build failed:\n${build.stdout}\n${build.stderr}`);
  return tag;
}
