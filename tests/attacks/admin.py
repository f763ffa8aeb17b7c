#!/usr/bin/python3
"""What somebody may try at the admin listener, each by its name: to get in, to be taken for somebody else, to be read
otherwise than a proxy reads it, to take the server's memory or places, or to make it show what is not its own.

    tests/attacks/admin.py http://127.0.0.1:7468 [NAME…]

The listener asks nobody for a token.  Each attack raises Fell where it gets what it wants.  Attack only servers of your own.
"""
import contextlib
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from admin_client import JSON, Admin  # noqa: E402 (the path above)
from harness import LIMIT, eventually  # noqa: E402

ATTACKS = {}  # name: the function
LARGE = 64 << 20  # bytes that nobody is to take before a request is whole
UNREAD = 2  # seconds in which nothing more is taken


class Fell(AssertionError):
    """The attack got what it wanted."""


def attack(function):
    """Its docstring is its description."""
    ATTACKS[function.__name__.replace("_", "-")] = function
    return function


def check(good, *what):
    if not good:
        raise Fell(*what)


def connect(admin):
    return socket.create_connection((admin.url.hostname, admin.url.port), timeout=LIMIT)


def answers(admin, data):
    """All that is answered, until the server closes."""
    with contextlib.closing(connect(admin)) as sock:
        sock.sendall(data)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := sock.recv(1 << 16):
                got += chunk
        return got


def head(*lines, first="POST /api/session HTTP/1.1", host="localhost"):
    return "\r\n".join((first, f"Host: {host}", "Content-Type: application/json", *lines, "", "")).encode()


def is_closed(sock):
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


SECOND = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@attack
def smuggle(admin):
    """A second request, in what a proxy takes for the body of the first."""
    twice = "Content-Length: 2"
    chunked = "Transfer-Encoding: chunked"
    body = b"2\r\n{}\r\n0\r\n\r\n"
    get = "GET /healthz HTTP/1.1"
    for request in (head(twice, chunked) + body, head(chunked, twice) + body, head(chunked, chunked) + body, head(twice, twice) + b"{}",
                    head("Content-Length: 2", f"Content-Length: {2 + len(SECOND)}") + b"{}", head("Content-Length: +2") + b"{}",
                    head("Content-Length: 2 ,2") + b"{}", head("Content-Length: -2"), head("Content-Length: 0x2") + b"{}", head("Content-Length : 2") + b"{}",
                    head("Transfer-Encoding: gzip, chunked") + body, head("Transfer-Encoding: xchunked") + body, head("Transfer-Encoding : chunked") + body,
                    head("Transfer-Encoding: identity"), head(chunked) + body, head(chunked) + b"0x2\r\n{}\r\n0\r\n\r\n", head(chunked) + b"+2\r\n{}\r\n0\r\n\r\n",
                    head(chunked) + b"2\n{}\n0\n\n", head("Content-Length: 2\0") + b"{}", head("Content-Length: 2\0 9") + b"{}", head("Content-Length: 2", host="localhost\0.evil.example") + b"{}",
                    head("Content-Length: 2\nX: y") + b"{}", head("Content-Length: 2", "X: y\r\n Content-Length: 99") + b"{}", head("Content-Length: 2\rX: y") + b"{}",
                    b"\r\n" + head("Content-Length: 2") + b"{}", head(first=get).replace(b"\r\n", b"\n"),
                    head(chunked) + b"-2\r\n{}\r\n0\r\n\r\n", head(chunked) + b"ffffffffffffffff\r\n{}\r\n0\r\n\r\n",
                    head(f"Content-Length: {len(SECOND)}", first=get), head(chunked, first=get), head(f"Content-Length: {len(SECOND)}", first="DELETE /api/session HTTP/1.1")):
        got = answers(admin, request + SECOND)
        check(got.startswith(b"HTTP/1.1 4") and got.count(b"HTTP/1.1 ") == 1, request, got)


@attack
def other_names(admin):
    """A page of somebody else, whose name points to us."""
    for host in ("evil.example", f"evil.example:{admin.url.port}", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example",
                 "2130706433.evil.example", "localhost evil.example", "[::1].evil.example", "localhost:80@evil.example"):
        for path in ("/", "/metrics", "/api/session"):
            got = answers(admin, head("Connection: close", first=f"GET {path} HTTP/1.1", host=host))
            check(b" 421 " in got[:16] or b" 400 " in got[:16], host, got)
    for line in ("GET http://evil.example/metrics HTTP/1.1", "GET //evil.example/metrics HTTP/1.1"):
        got = answers(admin, head("Connection: close", first=line))
        check(b" 421 " in got[:16], line, got)
    for host in ("localhost\r\nHost: evil.example", "evil.example\r\nHost: localhost"):
        got = answers(admin, head("Connection: close", first="GET / HTTP/1.1", host=host))
        check(b" 400 " in got[:16], host, got)


@attack
def other_pages(admin):
    """A page of somebody else, in the browser of who has signed in."""
    ours = admin.url.netloc
    for origin in ("null", "", "http://evil.example", f"http://{ours}.evil.example", f"http://{ours}@evil.example", f"http://evil.example/{ours}", f"http://{admin.url.hostname}",
                   f"http://{admin.url.hostname}:1", f"ftp://{ours}", f"http://{ours}/", f"http:///{ours}"):
        status, said = admin.api("POST", "/api/call", {"method": "echo"}, {"Origin": origin})
        check(status == 403, origin, said)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/plain; application/json", "application/jsonp"):
        status, _, body = admin.ask("POST", "/api/session", "{}", {"Content-Type": kind})
        check(status == 415, kind, body)
    for word in (None, "", admin.csrf[:-1], admin.csrf + "0", "0" * 64):
        status, _, body = admin.ask("POST", "/api/call", '{"method": "echo"}', {**JSON, **({} if word is None else {"X-Ergon-CSRF": word})})
        check(status == 403, word, body)
    status, headers, _ = admin.ask("GET", "/api/session", headers={"Origin": "http://evil.example"})
    check(not any(name.lower().startswith("access-control") for name in headers), headers)


@attack
def sessions(admin):
    """A session that was chosen for somebody, guessed, or has ended."""
    name = admin.cookie.split("=")[0]
    chosen = f"{name}={'0' * 64}"
    for cookie in (chosen, f"{name}=", f"{name}={'z' * 64}", admin.cookie.replace(name, "ergon_session"), admin.cookie[:-1], admin.cookie + "0", admin.cookie.upper(), "x" + admin.cookie):
        status, _, body = admin.ask("GET", "/api/session", headers={"Cookie": cookie})
        check(status == 200 and json.loads(body)["principal"] is None, cookie, body)
    status, _, body = admin.ask("GET", "/api/session", headers={"Cookie": f"{chosen}; {admin.cookie}"})
    check(json.loads(body)["principal"], "a cookie that something else has set hides ours", body)
    status, headers, _ = admin.ask("POST", "/api/session", "{}", {**JSON, "Cookie": chosen})
    said = headers["Set-Cookie"].split("; ")
    check(status == 200 and said[0] not in (chosen, admin.cookie), "the session is the one that was chosen", said)
    check({"HttpOnly", "SameSite=Strict", "Path=/"} <= set(said), said)
    other = Admin(admin.url.geturl())
    other.sign_in()
    check(other.api("POST", "/api/call", {"method": "echo"}, {"X-Ergon-CSRF": admin.csrf})[0] == 403, "one session's word is another's")
    check(other.api("DELETE", "/api/session")[0] == 200 and other.api("GET", "/api/session")[1]["principal"] is None, "a session outlives its end")


@attack
def files(admin):
    """Files of the machine, by way of the page's."""
    for path in ("/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/app.js/../../etc/passwd", "/./app.js", "/app.js%00.html", "/app.js/", "/views/",
                 "/vendor/../app.js", "\\..\\etc\\passwd", "/APP.JS"):
        got = answers(admin, head("Connection: close", first=f"GET {path} HTTP/1.1"))
        check(b" 404 " in got[:16] or b" 400 " in got[:16], path, got)


@attack
def reflections(admin):
    """Markup or headers of the attacker's in what is answered."""
    mark = "<script>alert(1)</script>"
    for line in (f"GET /{mark} HTTP/1.1", f"GET /?{mark} HTTP/1.1", f"{mark} / HTTP/1.1", f"GET / {mark}", "GET /%0d%0aX-Evil:%201 HTTP/1.1", f"GET /api/{mark} HTTP/1.1"):
        got = answers(admin, head("Connection: close", f"Cookie: ergon_session_{admin.url.port}={mark}", first=line))
        check(mark.encode() not in got and b"X-Evil" not in got, line, got)
    status, headers, body = admin.ask("POST", "/api/call", json.dumps({"method": mark}), {**JSON, "X-Ergon-CSRF": admin.csrf})
    check(status == 404 and headers["Content-Type"] == "application/json" and headers["X-Content-Type-Options"] == "nosniff", headers, body)


@attack
def json_edges(admin):
    """JSON that one reads as this, another as that, or that nobody can read."""
    def send(body):
        return admin.ask("POST", "/api/call", body, {**JSON, "X-Ergon-CSRF": admin.csrf})
    deep = 200000
    for bad in (b"", b"{", b"[]", b"null", b'"x"', b"{}{}", b'{"method":"echo","method":"ping"}', b'{"method":"echo","params":[NaN]}', b'{"method":"echo","params":[1e400]}',
                b'{"method":"echo","params":[18446744073709551616]}', b'{"method":"echo","params":["\xff"]}', b'{"method":"\xc3","params":[]}',
                b'{"method":"echo","params":["\\ud800"]}', b'{"method":"echo","params":[{"\\u0000":1}]}', b"\xef\xbb\xbf{}", b"\0", b'{"a":' * deep, b"[" * deep,
                b'{"method":"echo\\u0000","params":[]}', b'{"method":["echo"]}', b'{"method":"echo","params":{}}', "{é".encode() * 100):
        status, _, body = send(bad)
        check(status == 400, bad[:60], status, body)
    for good in ("[9223372036854775807,-9223372036854775808]", '["\\u0000"]', '[""]', '[{"":0}]', "[1e308]", '[{"$bin":"AP8="}]', '[{"$bin":""}]', '["\\ud83d\\ude00"]', '[{"$ext":[1,"AA=="]}]'):
        status, _, body = send(f'{{"method":"echo","params":{good}}}')
        check(status == 200 and json.loads(body)["result"] == json.loads(good)[0 if good.count(",") == 0 or good[1] == "{" else slice(None)], good, body)
    for nested in (40, 90, 110, 1000):
        status, _, body = send('{"method":"echo","params":' + "[" * nested + "]" * nested + "}")
        check(status in (400, 413), nested, body)
    check(admin.api("GET", "/api/session")[0] == 200, "what was refused has cost the session")


@attack
def endless(admin):
    """A request that does not end, to take the server's memory."""
    chunked = "Transfer-Encoding: chunked"
    for begin in (b"", b"GET /", b"GET / HTTP/1.1\r\nX: ", head(chunked), head(chunked) + b"1;", head(chunked) + b"0\r\nX: ", head("Content-Length: 1048576")):
        piece, taken = b"1" * (1 << 20), 0
        with contextlib.closing(connect(admin)) as sock:
            sock.sendall(begin)
            sock.settimeout(UNREAD)
            with contextlib.suppress(OSError):
                while taken < LARGE:
                    taken += sock.send(piece)
        check(taken < LARGE, begin[:60], f"{taken} bytes were taken")
    status, _, _ = admin.ask("POST", "/api/call", "{}", {**JSON, "Content-Length": str(1 << 40)})
    check(status == 413, status)


@attack
def many_bodies(admin):
    """Many requests that are whole but for a byte, to take the server's memory."""
    held = []
    try:
        for _ in range(60):
            sock = connect(admin)
            held.append(sock)
            with contextlib.suppress(OSError):
                sock.sendall(head("Content-Length: 1048576") + b"1" * ((1 << 20) - 1))
        # Of those that are not closed the last byte is awaited.
        eventually(lambda: sum(is_closed(sock) for sock in held) >= 20, "20 of 60 give way")
        check(admin.text("/healthz") == (200, "ok\n"), "nobody else is served")
    finally:
        for sock in held:
            sock.close()


def main():
    url, *names = sys.argv[1:] or sys.exit(__doc__)
    admin = Admin(url)
    admin.sign_in()
    for name in names or ATTACKS:
        ATTACKS[name](admin)
        print(f"{name}: borne")


if __name__ == "__main__":
    main()
