import type { HttpRequest, HttpResponse } from './uws.ts';

/** The one that follows what a native handler does with its response. */
export interface ResponseWatch {
  /** Something of the answer was handed to uWebSockets.js, so that no other answer is possible. */
  hasBegun: boolean;
  /** In chunks: then the connection must not be closed by `end`, which would corrupt them. */
  isChunked: boolean;
  status: number;
  bodyBytes: number;
  /** Instead of calling `onAborted` of uWebSockets.js, which knows one handler. */
  onAborted: (() => void) | undefined;
  isYielded: boolean;
  /** Whether the answer is to say `Connection: close`; asked once. */
  readonly closesConnection: boolean;
  /** The response must not be touched any more. */
  onOver(how: 'ended' | 'closed' | 'upgraded'): void;
  /** Makes a callback whose error is logged instead of ending the process. */
  guard<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R | undefined;
}

const WATCH = Symbol('watch');

type Watched<T> = T & { [WATCH]: ResponseWatch };
/** Not in the package's types, and not in every build. */
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/** Methods that take a callback which uWebSockets.js calls later; `cork` calls its own at once, in the caller's stack. */
const LATER = ['onData', 'onDataV2', 'onWritable', 'collectBody'];

/**
 * Lets `watch` follow a response that the user's code gets. The methods stand on a prototype between the object and
 * uWebSockets.js's own, made once, so that a response costs two assignments.
 */
export function watchResponse(res: HttpResponse, watch: ResponseWatch): void {
  (res as Watched<HttpResponse>)[WATCH] = watch;
  Object.setPrototypeOf(res, prototypeFor(res, responseMethods));
}

/** Sees `setYield`, by which a handler leaves the request to the next route, as it came. */
export function watchRequest(req: HttpRequest, watch: ResponseWatch): void {
  (req as Watched<HttpRequest>)[WATCH] = watch;
  Object.setPrototypeOf(req, prototypeFor(req, requestMethods));
}

/** uWebSockets.js has one prototype for all responses, and one for all requests. */
const prototypes = new WeakMap<object, object>();

function prototypeFor<T extends object>(object: T, methods: (native: T) => object): object {
  const native = Object.getPrototypeOf(object) as T;
  let prototype = prototypes.get(native);
  if (prototype === undefined) {
    prototype = Object.assign(Object.create(native), methods(native)) as object;
    prototypes.set(native, prototype);
  }
  return prototype;
}

type Response = Watched<HttpResponse>;

function responseMethods(native: HttpResponse): object {
  const methods: Record<string, AnyMethod> = {};
  for (const name of LATER) {
    const original = native[name] as AnyMethod | undefined;
    if (original === undefined) continue;
    methods[name] = function (this, ...args) {
      const watch = (this as Response)[WATCH];
      const guarded = args.map((arg) => (typeof arg === 'function' ? watch.guard(arg as AnyMethod) : arg));
      return original.apply(this, guarded);
    };
  }
  return {
    ...methods,
    onAborted(this: Response, handler: () => void) {
      this[WATCH].onAborted = this[WATCH].guard(handler);
      return this;
    },
    writeStatus(this: Response, status: string) {
      const watch = this[WATCH];
      native.writeStatus.call(this, status);
      watch.hasBegun = true;
      watch.status = Number.parseInt(status, 10) || watch.status;
      return this;
    },
    writeHeader(this: Response, ...args: Parameters<HttpResponse['writeHeader']>) {
      native.writeHeader.apply(this, args);
      this[WATCH].hasBegun = true;
      return this;
    },
    write(this: Response, chunk: Text) {
      const watch = this[WATCH];
      const isTaken = native.write.call(this, chunk as string);
      watch.hasBegun = true;
      watch.isChunked = true;
      watch.bodyBytes += byteLength(chunk);
      return isTaken;
    },
    tryEnd(this: Response, chunk: Text, total: number, closes?: boolean) {
      const watch = this[WATCH];
      const tryEnd = native.tryEnd as (chunk: Text, total: number, closes: boolean) => [boolean, boolean];
      const result = tryEnd.call(this, chunk, total, closes || watch.closesConnection);
      watch.hasBegun = true;
      if (result[1]) {
        watch.bodyBytes = total;
        watch.onOver('ended');
      }
      return result;
    },
    end(this: Response, body?: Text, closes?: boolean) {
      const watch = this[WATCH];
      native.end.call(this, body as string, closes || (!watch.isChunked && watch.closesConnection));
      watch.hasBegun = true;
      watch.bodyBytes += byteLength(body);
      watch.onOver('ended');
      return this;
    },
    endWithoutBody(this: Response, length?: number, closes?: boolean) {
      const watch = this[WATCH];
      native.endWithoutBody.call(this, length, closes || watch.closesConnection);
      watch.onOver('ended');
      return this;
    },
    close(this: Response) {
      // First: uWebSockets.js tells of it as of a client that left.
      this[WATCH].onOver('closed');
      native.close.call(this);
      return this;
    },
    upgrade(this: Response, ...args: Parameters<HttpResponse['upgrade']>) {
      // First: the WebSocket's `open` is called within.
      this[WATCH].onOver('upgraded');
      native.upgrade.apply(this, args);
    },
  };
}

function requestMethods(native: HttpRequest): object {
  return {
    /** uWebSockets.js's own turns it into lower case for the next route too. */
    getMethod(this: HttpRequest) {
      return native.getCaseSensitiveMethod.call(this).toLowerCase();
    },
    setYield(this: Watched<HttpRequest>, isYielded: boolean) {
      this[WATCH].isYielded = isYielded;
      native.setYield.call(this, isYielded);
      return this;
    },
  };
}

type Text = string | ArrayBuffer | ArrayBufferView | undefined;

function byteLength(chunk: Text): number {
  if (chunk === undefined) return 0;
  return typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
}
