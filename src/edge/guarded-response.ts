import type { HttpRequest, HttpResponse } from './uws.ts';

/** The one that follows what a native handler does with its response. */
export interface ResponseWatch {
  /** Something of the answer was handed to uWebSockets.js, so that no other answer is possible. */
  hasBegun: boolean;
  /** Its body has begun: a field that is written now, also by the `closes` of `end`, would land in it. */
  hasBody: boolean;
  /** It is the last on its connection: the client is told so, or uWebSockets.js closes. */
  isLast: boolean;
  status: number;
  bodyBytes: number;
  /** Instead of calling `onAborted` of uWebSockets.js, which knows one handler. */
  onAborted: (() => void) | undefined;
  isYielded: boolean;
  /** Whether an answer whose body begins now is to be the last on its connection. */
  readonly closesConnection: boolean;
  /** From now on every call that would touch the response does nothing and is told to `onLate`. */
  readonly isOver: boolean;
  onLate(method: string): void;
  /** The response must not be touched any more. One that `isLast` may have closed its connection by now. */
  onOver(how: 'ended' | 'closed' | 'upgraded'): void;
  /** Makes a callback whose error is logged instead of ending the process. */
  guard<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R | undefined;
}

const WATCH = Symbol('watch');

type Watched<T> = T & { [WATCH]: ResponseWatch };
/** Not in the package's types, and not in every build. */
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/** Methods that take a callback which uWebSockets.js calls later (`cork` calls its own at once, in the caller's stack). */
const LATER = ['onData', 'onDataV2', 'onWritable', 'collectBody'];

/**
 * Lets `watch` follow a response that the user's code gets. The methods stand on a prototype between the object and
 * uWebSockets.js's own, made once, so that a response costs two assignments.
 */
export function watchResponse(res: HttpResponse, watch: ResponseWatch): void {
  (res as Watched<HttpResponse>)[WATCH] = watch;
  Object.setPrototypeOf(res, prototypeFor(res, responseMethods));
}

/** Runs something with the response as uWebSockets.js made it. */
export function unwatched(res: HttpResponse, run: () => void): void {
  const watching = Object.getPrototypeOf(res) as object;
  Object.setPrototypeOf(res, Object.getPrototypeOf(watching));
  run();
  Object.setPrototypeOf(res, watching);
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
  /** Before a body that no flag of uWebSockets.js closes behind (`tryEnd` ignores its own): the client is told, and closes. */
  const tellClosing = (res: Response, watch: ResponseWatch, closes = false) => {
    if (watch.hasBody || watch.isLast || !(closes || watch.closesConnection)) return;
    native.writeHeader.call(res, 'Connection', 'close');
    watch.hasBegun = true;
    watch.isLast = true;
  };
  /** A method that must not touch a response that is over. `late` is what it gives then; undefined for the response. */
  const live = <A extends unknown[]>(
    name: string,
    late: unknown,
    run: (res: Response, watch: ResponseWatch, ...args: A) => unknown,
  ) =>
    function (this: Response, ...args: A): unknown {
      const watch = this[WATCH];
      if (!watch.isOver) return run(this, watch, ...args) ?? this;
      watch.onLate(name);
      return late ?? this;
    };
  const methods: Record<string, unknown> = {};
  for (const name of LATER) {
    const original = native[name] as AnyMethod | undefined;
    if (original === undefined) continue;
    methods[name] = live(name, undefined, (res, watch, ...args: unknown[]) => {
      const guarded = args.map((arg) => (typeof arg === 'function' ? watch.guard(arg as AnyMethod) : arg));
      return original.apply(res, guarded);
    });
  }
  for (const name of ['cork', 'pause', 'resume'] as const) {
    const original = native[name] as AnyMethod;
    methods[name] = live(name, undefined, (res, _watch, ...args: unknown[]) => original.apply(res, args));
  }
  return {
    ...methods,
    onAborted(this: Response, handler: () => void) {
      this[WATCH].onAborted = this[WATCH].guard(handler);
      return this;
    },
    writeStatus: live('writeStatus', undefined, (res, watch, status: string) => {
      native.writeStatus.call(res, status);
      watch.hasBegun = true;
      watch.status = Number.parseInt(status, 10) || watch.status;
    }),
    writeHeader: live('writeHeader', undefined, (res, watch, ...args: Parameters<HttpResponse['writeHeader']>) => {
      native.writeHeader.apply(res, args);
      watch.hasBegun = true;
      if (saysClose(...args)) watch.isLast = true;
    }),
    write: live('write', true, (res, watch, chunk: Text) => {
      tellClosing(res, watch);
      const isTaken = native.write.call(res, chunk as string);
      const length = byteLength(chunk);
      watch.hasBegun = true;
      if (length > 0) watch.hasBody = true;
      watch.bodyBytes += length;
      return isTaken;
    }),
    tryEnd: live('tryEnd', [true, true], (res, watch, chunk: Text, total: number, closes?: boolean) => {
      tellClosing(res, watch, closes);
      const result = native.tryEnd.call(res, chunk as string, total);
      watch.hasBegun = true;
      watch.hasBody = true;
      if (result[1]) {
        watch.bodyBytes = total;
        watch.onOver('ended');
      }
      return result;
    }),
    end: live('end', undefined, (res, watch, body?: Text, closes?: boolean) => {
      native.end.call(res, body as string, endsConnection(watch, closes));
      watch.hasBegun = true;
      watch.bodyBytes += byteLength(body);
      watch.onOver('ended');
    }),
    endWithoutBody: live('endWithoutBody', undefined, (res, watch, length?: number, closes?: boolean) => {
      native.endWithoutBody.call(res, length, endsConnection(watch, closes));
      watch.onOver('ended');
    }),
    close: live('close', undefined, (res, watch) => {
      // First: uWebSockets.js tells of it as of a client that left.
      watch.onOver('closed');
      native.close.call(res);
    }),
    upgrade: live('upgrade', undefined, (res, watch, ...args: Parameters<HttpResponse['upgrade']>) => {
      // First: the WebSocket's `open` is called within.
      watch.onOver('upgraded');
      native.upgrade.apply(res, args);
    }),
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

/** The flag for `end`: whether uWebSockets.js is to say `Connection: close`, and to do it. */
function endsConnection(watch: ResponseWatch, closes = false): boolean {
  if (watch.hasBody || !(closes || watch.closesConnection)) return false;
  watch.isLast = true;
  return true;
}

/** Whether this is a `Connection` field with the option `close`. */
function saysClose(name: Text, value: Text): boolean {
  return textOf(name).toLowerCase() === 'connection' && /(^|[\s,])close([\s,]|$)/i.test(textOf(value));
}

type Text = string | ArrayBuffer | ArrayBufferView | undefined;

function byteLength(chunk: Text): number {
  if (chunk === undefined) return 0;
  return typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
}

function textOf(text: Text): string {
  if (text === undefined || typeof text === 'string') return text ?? '';
  const bytes = ArrayBuffer.isView(text)
    ? Buffer.from(text.buffer, text.byteOffset, text.byteLength)
    : Buffer.from(text);
  return bytes.toString('latin1');
}
