import type { Redis, RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { randomBytes } from '../lib/random-bytes.ts';
import { encodeEnvelope, tryDecodeEnvelope } from './envelope.ts';
import type { Message, PubSub } from './pub-sub.ts';
import { Sequences } from './sequences.ts';

export interface RedisPubSubOptions {
  /** `redis://` or `rediss://`, with the password in it: never logged. */
  readonly url: string;
  readonly log: Logger;
  deliver(message: Message): void;
}

const CONNECT_TIMEOUT_MS = 5000;
const MAX_BACKOFF_MS = 10_000;
/** Bytes that may wait for Redis to take them. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Lost messages are told of together. */
const REPORT_MS = 250;

/**
 * Publishes through one channel of Redis. What is published while Redis is away is lost for other instances, and not
 * sent later: old news would come out of order, and an unknown share of it twice. Each message has a number, so that a
 * receiver knows how many it missed.
 */
export class RedisPubSub implements PubSub {
  readonly #options: RedisPubSubOptions;
  readonly #where: string;
  readonly #channel: string;
  readonly #publisher: Redis;
  readonly #subscriber: Redis;
  readonly #sender = randomBytes(16).toString('hex');
  readonly #heard = new Sequences();
  readonly #tried: Promise<void>;
  readonly #silence: NodeJS.Timeout;
  #onTried!: () => void;
  #sequence = 0;
  #waitingBytes = 0;
  #isSubscribed = false;
  #isUp = false;
  /** When Redis was lost, in the clock of `performance.now`. */
  #awaySince: number | undefined;
  #lastError = '';
  #unsent = 0;
  #report: NodeJS.Timeout | undefined;

  private constructor(options: RedisPubSubOptions, create: new (url: string, options: RedisOptions) => Redis) {
    this.#options = options;
    const { protocol, host, pathname } = new URL(options.url);
    this.#where = `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
    // Databases do not divide channels: the number in the name does.
    this.#channel = `uwsrp:${Number(pathname.slice(1))}:publish`;
    this.#tried = new Promise((resolve) => {
      this.#onTried = resolve;
    });
    // One that takes the connection and then says nothing has been tried as well.
    this.#silence = setTimeout(() => this.#onAway('it does not answer'), CONNECT_TIMEOUT_MS).unref();
    this.#publisher = this.#connect(create);
    this.#subscriber = this.#connect(create);
    this.#publisher.on('ready', () => this.#onReady());
    this.#subscriber.on('ready', () => void this.#subscribe());
    this.#subscriber.on('close', () => {
      this.#isSubscribed = false;
    });
    this.#subscriber.on('messageBuffer', (_channel: Buffer, bytes: Buffer) => this.#receive(bytes));
  }

  /** Begins to connect, and goes on trying for ever. */
  static async start(options: RedisPubSubOptions): Promise<RedisPubSub> {
    // It takes a tenth of a second to load, which boots without Redis need not spend.
    const { Redis } = await import('ioredis');
    return new RedisPubSub(options, Redis);
  }

  whenTried(): Promise<void> {
    return this.#tried;
  }

  send(message: Message): void {
    this.#sequence += 1;
    const bytes = encodeEnvelope({ ...message, sender: this.#sender, sequence: this.#sequence });
    if (this.#publisher.status !== 'ready' || this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#lost('Redis does not take them');
      return;
    }
    this.#waitingBytes += bytes.length;
    this.#publisher
      .publish(this.#channel, bytes)
      .catch((error: Error) => this.#lost(error.message))
      .finally(() => {
        this.#waitingBytes -= bytes.length;
      });
  }

  close(): void {
    clearTimeout(this.#report);
    clearTimeout(this.#silence);
    this.#publisher.removeAllListeners('close').disconnect();
    this.#subscriber.removeAllListeners('close').disconnect();
  }

  #connect(create: new (url: string, options: RedisOptions) => Redis): Redis {
    const redis = new create(this.#options.url, {
      connectionName: 'uwsrp',
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Nothing is kept to be sent again: it could arrive twice.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      maxRetriesPerRequest: null,
      protocol: 2,
      disableClientInfo: true,
      retryStrategy: (times) => Math.min(50 * 2 ** times, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2),
    });
    // Of an error only its text: beside it are the words of the command, and one of them may be the password.
    redis.on('error', (error: Error) => {
      this.#lastError = error.message || (error as NodeJS.ErrnoException).code || error.name;
    });
    redis.on('close', () => this.#onAway('the connection was closed'));
    return redis;
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#subscriber.subscribe(this.#channel);
      this.#isSubscribed = true;
      this.#onReady();
    } catch (error) {
      this.#lastError = (error as Error).message;
      this.#subscriber.disconnect(true);
    }
  }

  /** One of the two connections is there. */
  #onReady(): void {
    if (this.#isUp || this.#publisher.status !== 'ready' || !this.#isSubscribed) return;
    this.#isUp = true;
    clearTimeout(this.#silence);
    this.#lastError = '';
    const { log } = this.#options;
    if (this.#awaySince === undefined) {
      log.info(`publishing through ${this.#where}`);
    } else {
      const awayMs = Math.round(performance.now() - this.#awaySince);
      const unsent = this.#takeUnsent();
      log.warn(
        { awayMs, unsent },
        `Redis is back: ${unsent} messages of this instance did not reach the others, nor did theirs reach this one`,
      );
    }
    this.#awaySince = undefined;
    this.#onTried();
  }

  #onAway(what: string): void {
    this.#isUp = false;
    this.#onTried();
    if (this.#awaySince !== undefined) return;
    this.#awaySince = performance.now();
    const reason = this.#withoutPassword(this.#lastError || what);
    this.#options.log.warn({ reason }, `Redis is away (${this.#where}): what is published stays in its instance`);
  }

  #receive(bytes: Buffer): void {
    const envelope = tryDecodeEnvelope(bytes);
    if (envelope === undefined) {
      this.#options.log.warn(`something that is no message came on the channel ${this.#channel} of Redis`);
      return;
    }
    // It was delivered here when it was published.
    if (envelope.sender === this.#sender) return;
    const missed = this.#heard.accept(envelope.sender, envelope.sequence);
    if (missed === undefined) return;
    if (missed > 0) this.#options.log.warn({ missed }, `${missed} messages of another instance did not come`);
    this.#options.deliver(envelope);
  }

  #lost(reason: string): void {
    this.#unsent += 1;
    this.#report ??= setTimeout(() => {
      this.#report = undefined;
      // Else the line that Redis is back will tell.
      if (!this.#isUp || this.#unsent === 0) return;
      const unsent = this.#takeUnsent();
      this.#options.log.warn(
        { unsent, reason: this.#withoutPassword(reason) },
        `${unsent} messages did not reach other instances`,
      );
    }, REPORT_MS).unref();
  }

  /** Redis repeats the words of a command that it does not take, cut at some length: of AUTH they are the password. */
  #withoutPassword(text: string): string {
    const { password } = this.#publisher.options;
    const rest = text.replace(/, with args beginning with.*/s, '');
    return password ? rest.replaceAll(password, '***') : rest;
  }

  #takeUnsent(): number {
    const unsent = this.#unsent;
    this.#unsent = 0;
    return unsent;
  }
}
