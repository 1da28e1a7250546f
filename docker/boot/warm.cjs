'use strict';
// Run once while the image or slug is built: boots uwsrp with a small app, has one request answered, stops it as a
// platform does, and keeps the bytecode of all functions that ran, as uwsrp.cache beside start.cjs.
const { writeFileSync } = require('node:fs');
const { createServer } = require('node:net');

const app = `
  const http = require('node:http');
  http.createServer((request, response) => response.end('ok')).listen(process.env.PORT, '127.0.0.1');
  const ask = () => http.get(process.env.PUBLIC_URL, () => process.kill(process.ppid)).on('error', () => setTimeout(ask, 20));
  ask();
`;

const server = createServer().listen(0, () => {
  const { port } = server.address();
  server.close(() => {
    process.env.PORT = String(port);
    process.env.PUBLIC_URL = `http://127.0.0.1:${port}/`;
    process.argv.splice(2, Infinity, process.execPath, '--eval', app);
    const script = require(`${process.cwd()}/start.cjs`);
    // Its exit code is the app's, which SIGTERM has ended.
    process.once('exit', (code) => {
      if (code !== 143) return;
      writeFileSync('uwsrp.cache', script.createCachedData());
      process.exitCode = 0;
    });
  });
});
