/** What `import type { … } from 'uwsrp'` gives to the author of a module for `UWSRP_WS_MODULE`. */
export type { Config } from './config/config.ts';
export type {
  NativeApp,
  NativeContext,
  NativeHandler,
  NativeHttpMethod,
  NativeModule,
  PublishedMessage,
} from './native/native-module.ts';
