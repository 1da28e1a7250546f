// uws-reverse-proxy as its README shows it, in front of an app on loopback.
import { createRequire } from 'node:module';
import proxies from 'uws-reverse-proxy';

const { createHTTPConfig, createUWSConfig, UWSProxy } = proxies;
const { PORT, APP_PORT, UWS } = process.env;
const proxy = new UWSProxy(
  createUWSConfig(createRequire(import.meta.url)(UWS), { port: Number(PORT) }),
  createHTTPConfig({ port: Number(APP_PORT), host: '127.0.0.1' }),
);
proxy.start();
proxy.uws.server.listen('127.0.0.1', Number(PORT), (socket) => {
  if (!socket) throw new Error(`cannot listen on ${PORT}`);
});
