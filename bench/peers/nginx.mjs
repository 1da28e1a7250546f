import { spawnSync } from 'node:child_process';
import { startNginx } from '../lib/nginx.mjs';

/** Debian's nginx as a reverse proxy that does what uwsrp does: keep-alive to the app, no spooling to disk. */
export const nginx = {
  name: 'nginx',
  cannot: {},
  version: () => /nginx\/(\S+)/.exec(spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr)[1],
  start: ({ port, app, cores, workers }) =>
    startNginx(
      `map $http_upgrade $connection_field { default upgrade; "" ""; }
       upstream app { server ${app.socket ? `unix:${app.socket}` : `127.0.0.1:${app.port}`};
         keepalive 1024; keepalive_requests 100000000; }
       server { listen 127.0.0.1:${port} backlog=4096${workers > 1 ? ' reuseport' : ''}; client_max_body_size 0; location / {
         proxy_pass http://app; proxy_http_version 1.1; proxy_request_buffering off; proxy_max_temp_file_size 0;
         proxy_read_timeout 300s; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_field;
         proxy_set_header Host $http_host;
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
         proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port;
         proxy_set_header X-Request-Start "t=$msec"; } }`,
      { opens: port, cores, workers },
    ),
};
