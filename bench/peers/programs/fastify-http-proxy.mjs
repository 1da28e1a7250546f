// @fastify/http-proxy with its own client (undici) and room for as many requests at once as there are clients.
import proxy from '@fastify/http-proxy';
import fastify from 'fastify';

const { PORT, APP_PORT } = process.env;
const server = fastify({ bodyLimit: 1024 ** 3 });
await server.register(proxy, {
  upstream: `http://127.0.0.1:${APP_PORT}`,
  websocket: true,
  undici: { connections: 1024, pipelining: 1 },
});
await server.listen({ port: Number(PORT), host: '127.0.0.1', backlog: 4096 });
