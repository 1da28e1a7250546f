"""Votes that all open pages see at once. Their WebSockets are uwsrp's (live.mjs): this app only publishes."""

import json
import os
import signal
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

PAGE = Path(__file__).with_name("index.html").read_bytes()
PUBLISH_URL = os.environ.get("UWSRP_PUBLISH_URL")
PUBLISH_TOKEN = os.environ.get("UWSRP_PUBLISH_TOKEN")
LONGEST_WAIT_SECONDS = 2

# Never by a proxy that HTTP_PROXY names: the way to uwsrp is loopback, and the token is nobody else's business.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Votes:
    """In memory: they begin at zero with each start, and another instance has its own."""

    def __init__(self, *choices):
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(choices, 0)

    def counts(self):
        with self._lock:
            return dict(self._counts)

    def add(self, choice):
        """Gives the counts with this vote, or None if there is no such choice."""
        with self._lock:
            if choice not in self._counts:
                return None
            self._counts[choice] += 1
            return dict(self._counts)


def publish(topic, message):
    """Sends JSON to all subscribers of the topic. Never fails, only logs: what happened is true without it, too."""
    try:
        if PUBLISH_URL is None:
            raise LookupError("there is no UWSRP_PUBLISH_URL, which uwsrp sets when UWSRP_WS_MODULE names a module")
        headers = {"Authorization": f"Bearer {PUBLISH_TOKEN}"}
        request = urllib.request.Request(f"{PUBLISH_URL}?topic={quote(topic, safe='')}", json.dumps(message).encode(), headers)
        direct.open(request, timeout=LONGEST_WAIT_SECONDS).close()
    except Exception as error:
        print(f"not published to {topic}: {error}", file=sys.stderr, flush=True)


class Handler(BaseHTTPRequestHandler):
    # The default, HTTP/1.0, closes after each answer: no idle connection holds up a stop. Clients keep theirs to uwsrp.

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/":
            self.answer(200, "text/html; charset=utf-8", PAGE)
        elif path == "/votes":
            self.answer_json(votes.counts())
        else:
            self.answer_nothing()

    do_HEAD = do_GET

    def do_POST(self):
        path = self.path.partition("?")[0]
        counts = votes.add(path.removeprefix("/votes/")) if path.startswith("/votes/") else None
        if counts is None:
            self.answer_nothing()
            return
        # After the change, never before it: a page that subscribes in between gets the vote when it asks for all.
        publish("votes", counts)
        self.answer_json(counts)

    def answer_json(self, value):
        self.answer(200, "application/json", json.dumps(value).encode())

    def answer_nothing(self):
        self.answer(404, "text/plain; charset=utf-8", b"There is nothing here.\n")

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
    # Many visitors vote in the same moment; the library's 5 would leave some of them waiting for a second try.
    request_queue_size = 128


votes = Votes("tea", "coffee")
server = Server(("127.0.0.1", int(os.environ["PORT"])), Handler)


def stop(*_):
    # In a thread of its own, since shutdown waits for the loop below, which this has interrupted.
    threading.Thread(target=server.shutdown).start()


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
server.serve_forever()
server.server_close()
