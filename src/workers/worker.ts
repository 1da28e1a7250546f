import { Worker as Thread } from 'node:worker_threads';
import { UwsrpError } from '../lib/errors.ts';
import { type Message, withOwnMemory } from '../native/pub-sub.ts';
import {
  type CallName,
  type FromWorker,
  fromSent,
  type ToWorker,
  type WorkerCalls,
  type WorkerData,
} from './worker-messages.ts';

export interface WorkerOwner {
  /** The worker's module publishes. */
  onPublish(worker: Worker, message: Message): void;
  /** The thread is gone. `isClean`: it has closed its sockets before. */
  onEnd(worker: Worker, error: UwsrpError, isClean: boolean): void;
}

type Result<N extends CallName> = Awaited<ReturnType<WorkerCalls[N]>>;

/** A call whose answer is due. */
interface Call {
  resolve(value: unknown): void;
  reject(error: UwsrpError): void;
}

/** One worker thread, as the service sees it. */
export class Worker {
  readonly number: number;
  readonly #owner: WorkerOwner;
  readonly #thread: Thread;
  readonly #calls = new Map<number, Call>();
  #nextCall = 0;
  #failure: UwsrpError | undefined;
  #isEnded = false;

  constructor(data: WorkerData, owner: WorkerOwner) {
    this.number = data.worker;
    this.#owner = owner;
    this.#thread = new Thread(new URL('./worker-thread.js', import.meta.url), {
      workerData: data,
      name: `uwsrp worker ${data.worker}`,
    });
    this.#thread.on('message', (message: FromWorker) => this.#onMessage(message));
    this.#thread.on('error', (error) => this.#onEnd(new UwsrpError('INTERNAL', String(error)), false));
    this.#thread.on('exit', (code) => {
      this.#onEnd(this.#failure ?? new UwsrpError('INTERNAL', `it exited (${code})`), this.#failure !== undefined);
    });
  }

  /** Calls a method of the worker's front; calls are begun in order. Rejects as that does, or when the worker ends. */
  call<N extends CallName>(name: N, ...args: Parameters<WorkerCalls[N]>): Promise<Result<N>> {
    if (this.#isEnded) return Promise.reject(new UwsrpError('INTERNAL', 'the worker has ended'));
    this.#nextCall += 1;
    const id = this.#nextCall;
    this.#post({ kind: 'call', id, name, args });
    return new Promise<unknown>((resolve, reject) => this.#calls.set(id, { resolve, reject })) as Promise<Result<N>>;
  }

  /** Hands a message to the subscribers in the worker. */
  deliver(message: Message): void {
    this.#post({ kind: 'deliver', message: withOwnMemory(message) });
  }

  #post(message: ToWorker): void {
    this.#thread.postMessage(message);
  }

  #onMessage(message: FromWorker): void {
    switch (message.kind) {
      case 'publish':
        this.#owner.onPublish(this, message.message);
        return;
      case 'failed':
        this.#failure = fromSent(message.error);
        return;
      case 'result':
        this.#take(message.id).resolve(message.value);
        return;
      case 'error':
        this.#take(message.id).reject(fromSent(message.error));
    }
  }

  #take(id: number): Call {
    const call = this.#calls.get(id)!;
    this.#calls.delete(id);
    return call;
  }

  #onEnd(error: UwsrpError, isClean: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#owner.onEnd(this, error, isClean);
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}
