"""Gunicorn reads this file by itself when it starts in this folder."""

import os

# Left alone, gunicorn takes PORT for all interfaces; only uwsrp, in the same container, has to reach it.
bind = f"127.0.0.1:{os.environ['PORT']}"

# Threads, since the default worker closes each connection after one answer. WEB_CONCURRENCY is gunicorn's own variable.
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 4

# Longer than the 4 seconds that uwsrp keeps an idle connection: then it is never gunicorn that closes first.
keepalive = 10

# Shorter than uwsrp waits for the app (UWSRP_SHUTDOWN_TIMEOUT).
graceful_timeout = 4

# Memory, since a heartbeat in a file on a slow disk can make a worker look stuck.
worker_tmp_dir = "/dev/shm"
