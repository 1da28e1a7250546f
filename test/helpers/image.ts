import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient, type WaitStrategy } from 'testcontainers';
import { docker, type Run } from './docker.ts';
import { request } from './http.ts';
import { inRepository } from './repository.ts';
import { withTimeout } from './timeout.ts';

export const IMAGE = 'uwsrp/node:latest';
const MARK = 'uwsrp.test';
const DEFAULT_PORT = 8080;
const START_MS = 60_000;
const STOP_MS = 30_000;

export interface ImageOptions {
  /** Default: the built image `uwsrp/node`. */
  readonly image?: string;
  /** What stands in the place of CMD. */
  readonly command?: readonly string[];
  /** Replaces tini and our launcher, to look at the image itself. */
  readonly entrypoint?: readonly string[];
  /** `PORT` is the public port, else 8080. */
  readonly env?: Readonly<Record<string, string>>;
  /** `uid` or `uid:gid`, as of `docker run --user`. */
  readonly user?: string;
  readonly readOnlyRootfs?: boolean;
  /** Folders of their own in memory: `{ '/tmp': 'rw' }`. */
  readonly tmpfs?: Readonly<Record<string, string>>;
  readonly memoryMb?: number;
  /** Without any network but loopback; then no port is published. */
  readonly isOffline?: boolean;
  /** A network of `startNetwork`, and the name that its other containers have for this one. */
  readonly network?: string;
  readonly alias?: string;
  /** Gives the command a terminal; its two streams are then one, stdout. */
  readonly tty?: boolean;
  /** Put in before the start, owned by root and readable by all. Not with `readOnlyRootfs`. */
  readonly files?: readonly ImageFile[];
}

export interface ImageFile {
  readonly path: string;
  readonly content: string | Buffer;
  readonly mode?: number;
}

/** Apps of test/fixtures/apps in the work folder of the image, with what they import there. */
export function appFiles(...names: readonly string[]): ImageFile[] {
  return ['serve.js', 'pattern.js', ...names].map((name) => ({
    path: `/app/${name}`,
    content: readFileSync(inRepository('test', 'fixtures', 'apps', name)),
  }));
}

/** Starts a container and waits until its public port answers a request, whatever the status. */
export async function startImage(t: TestContext, options: ImageOptions = {}): Promise<ImageContainer> {
  const container = await launch(t, options, true);
  await container.answering();
  return container;
}

/** Starts a container without waiting for its port: for boots that fail or take long. */
export function spawnImage(t: TestContext, options: ImageOptions = {}): Promise<ImageContainer> {
  return launch(t, options, true);
}

/** Runs a container to its end, as `docker run --rm` does. */
export async function runImage(t: TestContext, options: ImageOptions = {}, ms = STOP_MS): Promise<Run> {
  const container = await launch(t, options, false);
  const exitCode = await container.exitCode(ms);
  return { exitCode, stdout: container.stdout, stderr: container.stderr };
}

/** Runs a shell script in the image, without tini and our launcher, and returns what it printed; fails when it fails. */
export async function shellInImage(
  t: TestContext,
  script: string,
  options: ImageOptions = {},
  ms?: number,
): Promise<string> {
  const run = await runImage(t, { ...options, entrypoint: ['/bin/sh', '-ec'], command: [script] }, ms);
  if (run.exitCode !== 0) throw new Error(`the script ended with ${run.exitCode}: ${script}\n${run.stderr}`);
  return run.stdout;
}

type Runtime = Awaited<ReturnType<typeof getContainerRuntimeClient>>;
type RawContainer = ReturnType<Runtime['container']['getById']>;

/** A running container of the image. */
export class ImageContainer {
  /** Where the public port is published; port 0 when it is not. */
  readonly address: { readonly host: string; readonly port: number };
  /** Everything so far, each stream by itself. */
  stdout = '';
  stderr = '';
  readonly #raw: RawContainer;
  readonly #ended: Promise<number>;
  #hasEnded = false;
  #waiting: (() => void)[] = [];

  constructor(raw: RawContainer, address: ImageContainer['address']) {
    this.#raw = raw;
    this.address = address;
    this.#ended = this.#follow();
  }

  /** `http://host:port`, without a slash at the end. */
  get url(): string {
    return `http://${this.address.host}:${this.address.port}`;
  }

  output(): string {
    return `--- stdout\n${this.stdout}\n--- stderr\n${this.stderr}`;
  }

  /**
   * Waits for a line of stdout that is a JSON object with these fields, also one that is there already. What a container
   * has printed comes by way of the engine: an answer of the app can be here before the line that was written before it.
   */
  async waitForLog(fields: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    const wanted = Object.entries(fields);
    const find = () => this.#jsonLines().find((line) => wanted.every(([name, value]) => line[name] === value));
    await this.#waitFor(() => find() !== undefined, `a log line with ${JSON.stringify(fields)}`, START_MS);
    return find()!;
  }

  /** Waits for a text on stdout or stderr, also one that is there already. */
  async waitForOutput(wanted: string | RegExp, ms = START_MS): Promise<void> {
    const has = () => (typeof wanted === 'string' ? this.output().includes(wanted) : wanted.test(this.output()));
    await this.#waitFor(has, `the output ${wanted}`, ms);
  }

  /**
   * Waits until the public port answers. Docker's own proxy accepts connections on the host from the first moment on,
   * so an open port says nothing: asks, and asks again when the connection was cut.
   */
  async answering(): Promise<void> {
    const deadline = Date.now() + START_MS;
    for (;;) {
      if (this.#hasEnded) throw new Error(`the container ended with ${await this.#ended}\n${this.output()}`);
      if (Date.now() > deadline) throw new Error(`no answer on ${this.url}\n${this.output()}`);
      const answer = await request(this.address).catch(() => undefined);
      if (answer) return;
      await delay(20);
    }
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    await this.#raw.kill({ signal });
  }

  /**
   * SIGTERM to every process at once, as Heroku sends it; gives the exit code. The container may end before the shell
   * in it that sends the signals, so how that ended says nothing.
   */
  async terminateAll(): Promise<number> {
    await docker('exec', this.#raw.id, 'sh', '-c', 'kill -TERM -1; kill -TERM 1');
    return this.exitCode();
  }

  /** Sends the signal and waits for the end; gives the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    await this.kill(signal);
    return this.exitCode();
  }

  /** Waits for the end; gives the exit code of the container. */
  exitCode(ms = STOP_MS): Promise<number> {
    return withTimeout(this.#ended, () => `the container to end\n${this.output()}`, ms);
  }

  /** Runs a command in the running container and gives its stdout; fails when it fails. */
  async exec(...command: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await docker('exec', this.#raw.id, ...command);
    if (exitCode !== 0) throw new Error(`docker exec ${command.join(' ')} ended with ${exitCode}: ${stdout}${stderr}`);
    return stdout;
  }

  /** What Docker knows of the container: `State.OOMKilled` and the like. */
  inspect() {
    return this.#raw.inspect();
  }

  /** Every whole line of stdout that is a JSON object, ours and the app's. */
  #jsonLines(): Record<string, unknown>[] {
    const lines = this.stdout.split('\n').filter((line) => line.startsWith('{') && line.trimEnd().endsWith('}'));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async #waitFor(isThere: () => boolean, what: string, ms: number): Promise<void> {
    const found = (async () => {
      while (!isThere()) {
        if (this.#hasEnded) throw new Error(`the container ended before ${what}\n${this.output()}`);
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    })();
    await withTimeout(found, () => `${what}\n${this.output()}`, ms);
  }

  async #follow(): Promise<number> {
    const isTerminal = (await this.#raw.inspect()).Config.Tty;
    const stream = await this.#raw.logs({ follow: true, stdout: true, stderr: true });
    const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })];
    stdout.on('data', (piece: string) => this.#take(() => (this.stdout += piece)));
    stderr.on('data', (piece: string) => this.#take(() => (this.stderr += piece)));
    if (isTerminal) stream.pipe(stdout);
    else this.#raw.modem.demuxStream(stream, stdout, stderr);
    await new Promise((resolve) => stream.once('end', resolve));
    const { StatusCode } = (await this.#raw.wait()) as { StatusCode: number };
    this.#take(() => (this.#hasEnded = true));
    return StatusCode;
  }

  #take(change: () => void): void {
    change();
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

async function launch(t: TestContext, options: ImageOptions, hasPort: boolean): Promise<ImageContainer> {
  const runtime = await getContainerRuntimeClient();
  await sweep();
  const mark = `${process.pid}-${randomBytes(8).toString('hex')}`;
  const port = Number(options.env?.PORT ?? DEFAULT_PORT);
  const definition = new Definition(options)
    .withLabels({ [MARK]: mark })
    .withWaitStrategy(new NoWait())
    .withExposedPorts(...(hasPort ? [port] : []));
  if (options.isOffline) definition.withNetworkMode('none');
  if (options.network) definition.withNetworkMode(options.network);
  if (options.alias) definition.withNetworkAliases(options.alias);
  // testcontainers forgets a container whose start failed.
  t.after(() => removeMarked(mark));
  const started = await definition.start();
  const raw = runtime.container.getById(started.getId());
  return new ImageContainer(raw, await publishedAt(raw, started.getHost(), port));
}

async function removeMarked(mark: string): Promise<void> {
  const { stdout } = await docker('ps', '--all', '--quiet', '--filter', `label=${MARK}=${mark}`);
  const ids = stdout.split('\n').filter(Boolean);
  if (ids.length > 0) await docker('rm', '--force', '--volumes', ...ids);
}

let swept: Promise<unknown> | undefined;

/** Once in a process: removes what a test run left that was killed before it could clean up. */
function sweep(): Promise<unknown> {
  swept ??= docker('ps', '--all', '--filter', `label=${MARK}`, '--format', `{{.Label "${MARK}"}}`).then(
    ({ stdout }) => {
      const abandoned = stdout.split('\n').filter((mark) => mark && !existsSync(`/proc/${Number.parseInt(mark, 10)}`));
      return Promise.all(abandoned.map(removeMarked));
    },
  );
  return swept;
}

/**
 * Docker may publish one port for IPv4 and another for IPv6, so `localhost` would be a guess; and testcontainers takes
 * the bridge's address where it believes to run in a container itself. An engine on this machine is on 127.0.0.1.
 */
async function publishedAt(raw: RawContainer, host: string, port: number): Promise<{ host: string; port: number }> {
  const bindings = (await raw.inspect()).NetworkSettings.Ports[`${port}/tcp`] ?? [];
  const binding = bindings.find(({ HostIp }) => HostIp.includes('.')) ?? bindings[0];
  const isHere = (process.env.DOCKER_HOST ?? 'unix:').startsWith('unix:');
  return { host: isHere ? '127.0.0.1' : host, port: Number(binding?.HostPort ?? 0) };
}

/** What testcontainers has no method for is set on the options that it hands to Docker. */
class Definition extends GenericContainer {
  constructor({ image = IMAGE, command, entrypoint, env, user, ...options }: ImageOptions) {
    super(image);
    this.createOpts = {
      ...this.createOpts,
      Tty: options.tty ?? false,
      ...(command && { Cmd: [...command] }),
      ...(entrypoint && { Entrypoint: [...entrypoint] }),
      ...(user && { User: user }),
    };
    this.hostConfig = {
      ...this.hostConfig,
      ReadonlyRootfs: options.readOnlyRootfs ?? false,
      Tmpfs: { ...options.tmpfs },
      ...(options.memoryMb && { Memory: options.memoryMb * 2 ** 20, MemorySwap: options.memoryMb * 2 ** 20 }),
    };
    this.withEnvironment({ ...env });
    this.withCopyContentToContainer(
      (options.files ?? []).map(({ path, content, mode = 0o644 }) => ({ target: path, content, mode })),
    );
  }
}

/** The tests wait themselves, for what they mean by ready. */
class NoWait implements WaitStrategy {
  async waitUntilReady(): Promise<void> {}
  withStartupTimeout(): this {
    return this;
  }
  isStartupTimeoutSet(): boolean {
    return true;
  }
  getStartupTimeout(): number {
    return START_MS;
  }
}
