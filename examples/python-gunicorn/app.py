"""A WSGI app without a framework; one of Flask or Django is served the same way."""

import json
import platform
from pathlib import Path

import gunicorn

PAGE = Path(__file__).with_name("index.html").read_bytes()


def app(environ, start_response):
    if environ["PATH_INFO"] == "/":
        status, content_type, body = "200 OK", "text/html; charset=utf-8", PAGE
    elif environ["PATH_INFO"] == "/request":
        status, content_type, body = "200 OK", "application/json", json.dumps(seen(environ)).encode()
    else:
        status, content_type, body = "404 Not Found", "text/plain; charset=utf-8", b"There is nothing here.\n"
    headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    start_response(status, headers)
    return [body]


def seen(environ):
    """What the app knows of the client, by way of uwsrp."""
    return {
        # Gunicorn believes X-Forwarded-Proto of 127.0.0.1, where uwsrp is, without being told to.
        "scheme": environ["wsgi.url_scheme"],
        "host": environ["HTTP_X_FORWARDED_HOST"],
        # The last address is the one that the nearest proxy saw; those before it may be made up.
        "client": environ["HTTP_X_FORWARDED_FOR"].split(",")[-1].strip(),
        "id": environ["HTTP_X_REQUEST_ID"],
        "server": f"Python {platform.python_version()}, gunicorn {gunicorn.__version__}",
    }
