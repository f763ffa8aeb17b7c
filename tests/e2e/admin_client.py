"""Somebody at an admin listener, by HTTP, for the end-to-end tests and the attacks on it."""
import contextlib
import http.client
import json
import socket
import time
import urllib.parse

from harness import LIMIT

JSON = {"Content-Type": "application/json"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LIMIT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(self.path)


class Admin:
    """Somebody at an admin listener: the cookie and the word that its session has."""

    def __init__(self, url, context=None):
        self.url, self.context = urllib.parse.urlsplit(url), context
        self.cookie = self.csrf = self.principal = None

    def connection(self):
        if self.url.scheme == "unix":
            return UnixConnection(self.url.path)
        if self.url.scheme == "https":
            return http.client.HTTPSConnection("localhost", self.url.port, timeout=LIMIT, context=self.context)
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=LIMIT)

    def ask(self, method, path, body=None, headers=()):
        """(status, headers, body as bytes)"""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body, {**({"Cookie": self.cookie} if self.cookie else {}), **dict(headers)})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def api(self, method, path, value=None, headers=()):
        """(status, what the JSON says)"""
        own = {**JSON, **({"X-Ergon-CSRF": self.csrf} if self.csrf else {}), **dict(headers)}
        status, _, body = self.ask(method, path, None if value is None else json.dumps(value), own)
        return status, json.loads(body)

    def sign_in(self, token=None):
        status, headers, body = self.ask("POST", "/api/session", json.dumps({"token": token} if token else {}), JSON)
        said = json.loads(body)
        if status == 200:
            self.cookie = headers["Set-Cookie"].split(";")[0]
            self.csrf, self.principal = said["csrf"], said["principal"]
        return status, said

    def call(self, method, *params, headers=()):
        return self.api("POST", "/api/call", {"method": method, "params": list(params)}, headers)

    def text(self, path):
        status, _, body = self.ask("GET", path)
        return status, body.decode()


class Stream:
    """The events of /api/live, from its answer."""

    def __init__(self, answer):
        self.answer = answer

    def next(self, name):
        """What the next event of this name says; others are passed over."""
        end = time.monotonic() + LIMIT
        kind = None
        while time.monotonic() < end:
            line = self.answer.readline()
            if not line:
                raise AssertionError(f"the stream ended before an event {name}")
            if line.startswith(b"event: "):
                kind = line[len("event: "):].decode().strip()
            elif line.startswith(b"data: ") and kind == name:
                return json.loads(line[len("data: "):])
        raise AssertionError(f"no event {name} came")


def refusal(answer):
    """(status, code)"""
    return answer[0], answer[1]["error"]["code"]
