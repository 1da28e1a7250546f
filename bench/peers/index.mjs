// Who is measured, in the order of the table's columns. A peer has a `name`, a `version()`, what it `cannot` do (what a
// scenario needs, or its name -> the reason), and `start({ port, app, cores, image, workers, module, settings })`, which resolves
// with `{ pids, stop }`: the processes whose CPU and memory count. `app` has a `port` or a `socket`; `module` and
// `settings` are for uwsrp alone.
import { fastifyHttpProxy } from './fastify-http-proxy.mjs';
import { haproxy } from './haproxy.mjs';
import { httpProxy } from './http-proxy.mjs';
import { nginx } from './nginx.mjs';
import { uwsReverseProxy } from './uws-reverse-proxy.mjs';
import { uwsrp } from './uwsrp.mjs';

export const PEERS = [uwsrp, nginx, haproxy, uwsReverseProxy, httpProxy, fastifyHttpProxy];
