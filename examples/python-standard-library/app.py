"""A web server of Python's standard library, for small things that need no package."""

import json
import os
import platform
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = Path(__file__).with_name("index.html").read_bytes()


class Handler(BaseHTTPRequestHandler):
    # The default, HTTP/1.0, closes after each answer: no idle connection holds up a stop. Clients keep theirs to uwsrp.

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/":
            self.answer(200, "text/html; charset=utf-8", PAGE)
        elif path == "/request":
            self.answer(200, "application/json", json.dumps(self.seen()).encode())
        else:
            self.answer(404, "text/plain; charset=utf-8", b"There is nothing here.\n")

    do_HEAD = do_GET

    def seen(self):
        """What uwsrp says of the client. Only uwsrp can reach this port, so its word can be taken."""
        return {
            "scheme": self.headers["X-Forwarded-Proto"],
            "host": self.headers["X-Forwarded-Host"],
            # The last address is the one that the nearest proxy saw; those before it may be made up.
            "client": self.headers["X-Forwarded-For"].split(",")[-1].strip(),
            "id": self.headers["X-Request-Id"],
            "server": f"Python {platform.python_version()}, http.server",
        }

    def answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format, *args):
        """Says nothing: UWSRP_ACCESS_LOG=all logs requests."""


class Server(ThreadingHTTPServer):
    # server_close then waits for the requests in flight.
    daemon_threads = False


server = Server(("127.0.0.1", int(os.environ["PORT"])), Handler)


def stop(*_):
    # In a thread of its own, since shutdown waits for the loop below, which this has interrupted.
    threading.Thread(target=server.shutdown).start()


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
server.serve_forever()
server.server_close()
