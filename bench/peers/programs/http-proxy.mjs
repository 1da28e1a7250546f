// http-proxy with keep-alive to the app, which it does not have by itself.
import { Agent, createServer } from 'node:http';
import httpProxy from 'http-proxy';

const { PORT, APP_PORT, APP_SOCKET } = process.env;
const target = APP_SOCKET ? { socketPath: APP_SOCKET } : { host: '127.0.0.1', port: Number(APP_PORT) };
const proxy = httpProxy.createProxyServer({ target, xfwd: true, ws: true, agent: new Agent({ keepAlive: true }) });
proxy.on('error', (_error, _request, response) => response.destroy());
const server = createServer((request, response) => proxy.web(request, response));
server.on('upgrade', (request, socket, head) => proxy.ws(request, socket, head));
server.listen({ port: Number(PORT), host: '127.0.0.1', backlog: 4096 });
