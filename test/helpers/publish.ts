import type { TestContext } from 'node:test';
import { type HttpResponse, request } from './http.ts';
import { nativeModule } from './native.ts';
import { startUwsrp, type Uwsrp } from './uwsrp.ts';

/** Everybody who connects to /topics/<topic> gets what is published there. */
export const SUBSCRIBE = `
  app.ws('/topics/:topic', {
    upgrade(res, req, context) {
      const [key, protocol] = [req.getHeader('sec-websocket-key'), req.getHeader('sec-websocket-protocol')];
      res.upgrade({ topic: req.getParameter(0) }, key, protocol, '', context);
    },
    open: (ws) => { ws.subscribe(ws.getUserData().topic); ws.send('subscribed'); },
    message: (ws, message, isBinary) => { context.publish(ws.getUserData().topic, isBinary ? message : text(message)); },
  });`;

export interface PublishRun {
  readonly uwsrp: Uwsrp;
  /** What the command got. */
  readonly publishUrl: string;
  readonly token: string;
  /** Posts to the publish endpoint, with the token unless another is given. */
  publish(body: string | Buffer, options?: PublishOptions): Promise<HttpResponse>;
}

export interface PublishOptions {
  /** `?topic=news` by default. */
  readonly query?: string;
  readonly type?: string;
  readonly authorization?: string;
  readonly method?: string;
}

/** Starts uwsrp with a module that lets clients subscribe, and a command that tells what it was given. */
export async function startPublishing(t: TestContext, env: Record<string, string> = {}): Promise<PublishRun> {
  const module = nativeModule(t, SUBSCRIBE);
  const uwsrp = await startUwsrp(t, {
    args: ['node', 'apps/publish-env.js'],
    env: { UWSRP_WS_MODULE: module, UWSRP_LOG_LEVEL: 'trace', UWSRP_ACCESS_LOG: 'all', ...env },
  });
  const { url, token } = JSON.parse((await request(uwsrp.port)).text) as { url: string; token: string };
  const { port, pathname } = new URL(url);
  return {
    uwsrp,
    publishUrl: url,
    token,
    publish(body, { query = '?topic=news', type, authorization = `Bearer ${token}`, method = 'POST' } = {}) {
      const headers = { Authorization: authorization, ...(type === undefined ? {} : { 'Content-Type': type }) };
      return request(Number(port), { method, path: `${pathname}${query}`, headers, body });
    },
  };
}
