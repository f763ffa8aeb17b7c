"""The admin listener: health, sessions and calls by HTTP, and what it refuses."""
import base64
import contextlib
import gzip
import http.client
import json
import os
import re
import select
import signal
import ssl
import unittest

import msgpack
from admin_client import JSON, Admin, Stream, refusal
from harness import LIMIT, Server, build_handlers, eventually, scratch, self_signed, token_of, trusting, write_tokens
from stuck_test import HANG


SERVED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def raw(admin, sent):
    """All that is answered to these bytes, until the server closes."""
    with contextlib.closing(admin.connection()) as connection:
        connection.connect()
        connection.sock.sendall(sent)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.sock.recv(1 << 16):
                got += chunk
        return got


class AdminTest(unittest.TestCase):
    def start(self, *flags, admin=("http://127.0.0.1:0",), **options):
        """A server, and the URLs of its admin listeners."""
        for url in admin:
            flags += ("--admin", url)
        server = Server(*flags, **options)
        self.addCleanup(server.discard)
        urls = [server.process.stdout.readline().strip() for _ in admin]
        self.assertTrue(all(urls), server.log_text())
        return server, urls

    def open(self, *flags):
        server, urls = self.start(*flags)
        admin = Admin(urls[0])
        eventually(lambda: admin.text("/readyz")[0] == 200, "/readyz says that the server has started")
        return server, admin

    def open_with_large_events(self, *flags):
        """Signed in over a Unix socket, whose buffers do not grow, where an event of /api/live is half a MiB."""
        path = os.path.join(scratch(self.addCleanup), "admin.sock")
        server, (url,) = self.start("--workers-methods", "w.*", *flags, admin=("unix://" + path,))
        admin = Admin(url)
        eventually(lambda: admin.text("/readyz") == (200, "ready\n"), "/readyz says that the server has started")
        with server.connect() as client:
            for asked in [client.send("task.submit", f"w.{i}", [], {"delay": "1h"}) for i in range(2000)]:
                client.result(asked)
        self.assertEqual(admin.sign_in()[0], 200)
        return server, admin

    def look_on(self, admin):
        """One more stream, until the test's end; the status."""
        connection = admin.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
        return connection.getresponse().status


class Open(AdminTest):
    """On loopback, where nobody is asked who he is."""

    def test_health_and_readiness_are_told_by_any_name(self):
        _, admin = self.open()
        for path, says in (("/healthz", "ok\n"), ("/readyz", "ready\n")):
            status, _, body = admin.ask("GET", path, headers={"Host": "10.1.2.3:80"})
            self.assertEqual((status, body.decode()), (200, says))

    def test_a_session_calls_and_ends(self):
        server, admin = self.open()
        self.assertEqual(admin.sign_in(), (200, {"principal": "address:127.0.0.1", "csrf": admin.csrf}))
        self.assertEqual(admin.api("GET", "/api/session"), (200, {"principal": "address:127.0.0.1", "csrf": admin.csrf}))
        raw = {"$bin": base64.b64encode(b"\0\xff").decode()}
        self.assertEqual(admin.call("echo", 1, -2.5, "ü", None, [True], {"a": raw}),
                         (200, {"result": [1, -2.5, "ü", None, [True], {"a": raw}]}))
        status, task = admin.call("task.submit", "echo", ["from the page"])
        self.assertEqual(status, 200, task)
        self.assertEqual(admin.call("task.wait", task["result"]["id"])[0], 200)
        with server.connect() as other:
            seen = [c["listener"] for c in other.call("connection.list")["connections"]]
        self.assertTrue(any(url.startswith("http://") for url in seen), seen)
        self.assertEqual(admin.api("DELETE", "/api/session"), (200, {}))
        self.assertEqual(admin.api("GET", "/api/session"), (200, {"principal": None, "token": False}))
        self.assertEqual(refusal(admin.call("echo")), (401, "AUTH"))

    def test_what_json_has_no_value_for_is_told_all_the_same(self):
        server, admin = self.open()
        admin.sign_in()
        values = ((2**64 - 1, "18446744073709551615"), (2**53 + 1, 2**53 + 1), (-2**63, -2**63), (float("nan"), "nan"), (float("-inf"), "-inf"),
                  (b"", {"$bin": ""}), ("\udcff", {"$bin": "/w=="}), ("a\0b", "a\0b"), (msgpack.ExtType(5, b"\1\2"), {"$ext": [5, "AQI="]}),
                  (msgpack.Timestamp(1, 0), {"$ext": [-1, "AAAAAQ=="]}), ({1: "a", None: "b", b"\xff": "c", "": "d"}, {"1": "a", "null": "b", '{"$bin":"/w=="}': "c", "": "d"}))
        with server.connect() as client:
            for value, said in values:
                task = client.call("task.submit", "echo", [value], {"keep": "1h"})["id"]
                self.assertEqual(admin.call("task.wait", task)[0], 200)
                status, got = admin.call("task.get", task)
                self.assertEqual((status, got["result"]["result"]), (200, said), value)

    def test_errors_have_their_codes(self):
        _, admin = self.open()
        admin.sign_in()
        self.assertEqual(refusal(admin.call("there.is.none")), (404, "NO_METHOD"))
        self.assertEqual(refusal(admin.call("task.list", 7)), (400, "BAD_PARAMS"))
        self.assertEqual(refusal(admin.call("echo", {"$bin": "???"})), (400, "BAD_PARAMS"))
        for body in ({}, {"method": 1}, {"method": ""}, {"method": "echo", "params": 1}, {"method": "a" * 300}):
            status, _ = admin.api("POST", "/api/call", body)
            self.assertIn(status, (400, 503), body)
        for method in ("server.auth", "server.hello", "server.cancel", "worker.register"):
            self.assertEqual(refusal(admin.call(method, "x")), (403, "DENIED"))
        status, _, _ = admin.ask("POST", "/api/call", "{", {**JSON, "X-Ergon-CSRF": admin.csrf})
        self.assertEqual(status, 400)
        status, _, _ = admin.ask("POST", "/api/call", "{}", {"X-Ergon-CSRF": admin.csrf, "Content-Type": "text/plain"})
        self.assertEqual(status, 415)

    def test_what_comes_from_another_page_is_refused(self):
        _, admin = self.open()
        admin.sign_in()
        for headers in ({"X-Ergon-CSRF": ""}, {"X-Ergon-CSRF": "0" * 64}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            self.assertEqual(refusal(admin.call("echo", headers=headers)), (403, "DENIED"), headers)
            self.assertEqual(refusal(admin.api("DELETE", "/api/session", headers=headers)), (403, "DENIED"), headers)
        self.assertEqual(refusal(admin.api("POST", "/api/session", {}, {"Origin": "http://evil.example"})), (403, "DENIED"))
        ours = f"http://{admin.url.netloc}"
        self.assertEqual(admin.call("echo", 1, headers={"Origin": ours}), (200, {"result": 1}))

    def test_names_that_are_not_ours_are_refused(self):
        _, admin = self.open("--admin-host", "ergon.example.org")
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            for path in ("/", "/metrics", "/api/session", "/debug/topology"):
                status, _, body = admin.ask("GET", path, headers={"Host": host})
                self.assertEqual((status, json.loads(body)["error"]["code"]), (421, "DENIED"), (host, path))
        for line in ("http://evil.example/metrics", "//evil.example/metrics"):
            self.assertEqual(admin.ask("GET", line)[0], 421, line)
        self.assertEqual(admin.ask("GET", "/", headers={"Host": "ergon.example.org:80"})[0], 200)

    def test_sizes_and_methods_are_bounded(self):
        _, admin = self.open()
        admin.sign_in()
        self.assertEqual(admin.ask("POST", "/api/call", None, {**JSON, "Content-Length": str(2 << 20)})[0], 413)
        self.assertIn(admin.ask("GET", "/", headers={"X-Large": "x" * 20000})[0], (400, 413))
        self.assertEqual(admin.ask("POST", "/", "")[0], 405)
        self.assertEqual(admin.ask("GET", "/api/call")[0], 405)
        self.assertIn(admin.ask("PUT", "/api/session", "{}")[0], (405, 501))
        for path in ("/../index.html", "/%2e%2e/etc/passwd", "/page", "/api"):
            self.assertEqual(admin.ask("GET", path)[0], 404, path)

    def test_what_the_library_refuses_is_an_error_as_any(self):
        _, admin = self.open()
        post = b"POST /api/call HTTP/1.1\r\nHost: localhost\r\n"
        for sent, status, code in ((b"GET\r\n\r\n", 400, "BAD_REQUEST"), (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400, "BAD_REQUEST"),
                                   (b"GET / HTTP/1.1\r\nX: " + b"x" * 20000 + b"\r\n\r\n", 400, "BAD_REQUEST"), (b"GET /" + b"x" * 20000, 400, "BAD_REQUEST"), (post + b"Content-Length: 2000000\r\n\r\n", 413, "TOO_LARGE"),
                                   (post + b"Transfer-Encoding: chunked\r\n\r\n1e8480\r\n", 413, "TOO_LARGE"), (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 413, "TOO_LARGE"),
                                   (post + b"Expect: wonders\r\nContent-Length: 2\r\n\r\n{}", 417, "BAD_REQUEST"), (b"PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501, "BAD_REQUEST"),
                                   (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501, "BAD_REQUEST"),
                                   (post + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 413, "TOO_LARGE")):
            with self.subTest(sent[:60]):
                got = raw(admin, sent).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
                head, _, body = got.partition(b"\r\n\r\n")
                self.assertEqual(head.split()[1], str(status).encode(), got)
                self.assertEqual(json.loads(body)["error"]["code"], code)
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
                self.assertEqual(headers["Content-Type"], "application/json")
                self.assertEqual((headers["Content-Length"], headers["Connection"]), (str(len(body)), "close"))
                for name in ("Content-Security-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"):
                    self.assertIn(name, headers)
                self.assertEqual((headers["X-Content-Type-Options"], headers["Cache-Control"]), ("nosniff", "no-store"))
        first, second = SERVED + b"\r\n", b"GET\r\n\r\n"
        self.assertIn(b"HTTP/1.1 400", raw(admin, first + second).partition(b"ok\n")[2], "also behind a request that was served")

    def test_pages_of_two_servers_at_one_name_have_a_session_each(self):
        _, first = self.open()
        _, second = self.open()
        first.sign_in()
        second.sign_in()
        both = dict(cookie.split("=") for cookie in (first.cookie, second.cookie))  # as a browser keeps them
        for one in (first, second):
            status, _, body = one.ask("GET", "/api/session", headers={"Cookie": "; ".join("=".join(pair) for pair in both.items())})
            self.assertEqual((status, json.loads(body)["csrf"]), (200, one.csrf))

    def test_too_many_sessions_of_one_end_its_oldest(self):
        _, admin = self.open()
        admin.sign_in()
        for _ in range(16):
            self.assertEqual(Admin(admin.url.geturl()).sign_in()[0], 200)
        self.assertEqual(admin.api("GET", "/api/session"), (200, {"principal": None, "token": False}))

    def test_the_page_has_its_headers(self):
        _, admin = self.open()
        status, headers, body = admin.ask("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'; script-src 'self'", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        status, again, packed = admin.ask("GET", "/index.html", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((status, again["Content-Encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(packed), body)
        status, _, nothing = admin.ask("GET", "/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((status, nothing), (304, b""))
        status, _, nothing = admin.ask("HEAD", "/")
        self.assertEqual((status, nothing), (200, b""))

    def test_metrics_are_open_metrics_for_who_asks_for_that(self):
        openly, classic = "application/openmetrics-text; version=1.0.0; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8"
        _, admin = self.open()
        for accept, kind in (
            (None, classic),  # curl sends */*
            ("*/*", classic),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", classic),  # a browser
            ("text/plain;version=0.0.4;q=1,*/*;q=0.1", classic),  # Prometheus 1
            ("application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", classic),  # a draft of it, as Prometheus asked for at first
            ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
             "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", openly),  # Prometheus 2
            ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
             "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", openly),  # Prometheus 3
            ("application/openmetrics-text", openly),
            ("application/openmetrics-text,*/*", openly),
            ("application/openmetrics-text;q=0.4,text/plain;q=0.5", classic),
            ("application/openmetrics-text;q=0,text/plain;q=0", classic),
            ("text/plain;q=0,*/*;q=0.1", openly),
            ("image/png", classic),
        ):
            status, headers, body = admin.ask("GET", "/metrics", headers={"Accept": accept} if accept else {})
            self.assertEqual((status, headers["Content-Type"], headers["Vary"]), (200, kind, "Accept, Accept-Encoding"), accept)
            self.assertEqual(body.endswith(b"\n# EOF\n"), kind == openly, accept)
            self.assertIn(b'\nergon_loop_rounds_total{loop="loop 0"} ', body)
            self.assertIn(b"\n# TYPE ergon_loop_rounds%s counter\n" % (b"" if kind == openly else b"_total"), body)

    def test_metrics_are_smaller_for_who_takes_gzip(self):
        _, admin = self.open()
        _, headers, body = admin.ask("GET", "/metrics")  # http.client says identity
        self.assertIsNone(headers["Content-Encoding"])
        status, headers, packed = admin.ask("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"], int(headers["Content-Length"])), (200, "gzip", len(packed)))
        self.assertLess(len(packed), len(body) / 4)
        names = [re.findall(rb"^# TYPE (\S+)", text, re.M) for text in (body, gzip.decompress(packed))]
        self.assertEqual(*names)
        _, headers, body = admin.ask("GET", "/metrics", headers={"Accept-Encoding": "gzip;q=0, *"})
        self.assertIsNone(headers["Content-Encoding"])
        for path in ("/metrics", "/"):
            status, headers, nothing = admin.ask("HEAD", path, headers={"Accept-Encoding": "gzip"})
            self.assertEqual((status, headers["Content-Encoding"], nothing), (200, "gzip", b""))

    def test_topology_is_told(self):
        _, admin = self.open()
        status, text = admin.text("/debug/topology")
        self.assertEqual((status, "loops" in json.loads(text)), (200, True))

    def test_more_connections_than_places_are_served_in_turn(self):
        _, admin = self.open()
        idle = []
        for _ in range(200):
            connection = admin.connection()
            connection.connect()
            idle.append(connection)
        self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
        for connection in idle:
            connection.close()

    def test_live_tells_the_figures_and_ends_with_its_session(self):
        _, admin = self.open()
        admin.sign_in()
        connection = admin.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
        stream = connection.getresponse()
        self.assertEqual((stream.status, stream.headers["Content-Type"]), (200, "text/event-stream"))
        said = Stream(stream).next("info")
        self.assertEqual(said["info"]["server"], "ergon")
        self.assertIn("loops", said["topology"])
        self.assertIn("queues", said)
        self.assertEqual(admin.api("DELETE", "/api/session")[0], 200)
        while stream.readline():
            pass
        self.assertEqual(admin.text("/healthz"), (200, "ok\n"))

    def test_only_so_many_look_on_in_one_session(self):
        _, admin = self.open()
        admin.sign_in()
        self.assertEqual([self.look_on(admin) for _ in range(5)], [200] * 4 + [429])
        self.assertEqual(Admin(admin.url.geturl()).ask("GET", "/api/live")[0], 401)

    def test_a_call_whose_client_has_gone_is_cancelled(self):
        server, admin = self.open()
        admin.sign_in()

        def under_way(method):
            connection = admin.connection()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/call", json.dumps({"method": method, "params": ["1h"]}), {**JSON, "Cookie": admin.cookie, "X-Ergon-CSRF": admin.csrf})
            return connection

        def in_flight():
            with server.connect() as other:
                return sum(c["in_flight"] for c in other.call("connection.list")["connections"] if c["listener"].startswith("http://"))
        first = under_way("sleep")
        eventually(lambda: in_flight() == 1, "the first call is under way")
        second = under_way("sleep")
        eventually(lambda: in_flight() == 2, "the second call is under way")
        second.close()
        eventually(lambda: in_flight() == 1, "the call ends whose client has gone")
        self.assertEqual(select.select([first.sock], [], [], 0)[0], [], "the first call, whose time ends first, has not ended")
        self.assertEqual(admin.call("echo", 1), (200, {"result": 1}))

    def test_only_so_many_calls_of_a_session_are_under_way(self):
        server, admin = self.open()
        admin.sign_in()
        for _ in range(32):
            connection = admin.connection()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/call", json.dumps({"method": "sleep", "params": ["1h"]}), {**JSON, "Cookie": admin.cookie, "X-Ergon-CSRF": admin.csrf})
        eventually(lambda: admin.call("echo")[0] == 429, "all calls of the session are under way")
        other = Admin(admin.url.geturl())
        other.sign_in()
        self.assertEqual([other.call("echo", i) for i in range(40)], [(200, {"result": i}) for i in range(40)])

    def test_a_result_that_is_too_large_is_refused(self):
        _, admin = self.open()
        admin.sign_in()
        for size, status in ((7 << 20, 200), (9 << 20, 413)):
            packed = {"$bin": base64.b64encode(gzip.compress(b"x" * size)).decode()}
            self.assertEqual(admin.call("decompress", packed)[0], status)

    def test_what_the_server_would_hang_up_on_costs_no_session(self):
        _, admin = self.open("--limits-message", "64k")
        admin.sign_in()
        deep = 1
        for _ in range(60):
            deep = [deep]
        for value in (deep, "x" * 70000, "x" * 65400, [0] * 70000):
            self.assertEqual(refusal(admin.call("echo", value)), (413, "TOO_LARGE"))
        self.assertEqual(admin.call("echo", "x" * 60000)[0], 200)

    def test_streams_of_one_principal_are_bounded(self):
        _, admin = self.open()
        statuses = []
        for _ in range(5):
            one = Admin(admin.url.geturl())
            one.sign_in()
            statuses += [self.look_on(one) for _ in range(4)]
        self.assertEqual(statuses, [200] * 16 + [429] * 4)

    def test_who_kills_its_connection_ends_the_session(self):
        server, admin = self.open()
        admin.sign_in()
        with server.connect() as other:
            ids = [c["id"] for c in other.call("connection.list")["connections"] if c["listener"].startswith("http://")]
            self.assertEqual(len(ids), 1)
            other.call("connection.kill", ids[0])
        eventually(lambda: admin.api("GET", "/api/session")[1]["principal"] is None, "the session ends with its connection")

    def test_a_stop_is_told_and_ends_it(self):
        server, admin = self.open("--drain", "30s")
        admin.sign_in()
        with server.connect() as busy:
            busy.call("server.ping")
            busy.send("sleep", "1h")
            eventually(lambda: busy_with_sleep(server), "the handler sleeps")
            server.signal(signal.SIGTERM)
            eventually(lambda: admin.text("/readyz") == (503, "draining\n"), "/readyz tells of the drain")
            self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
            eventually(lambda: admin.api("GET", "/api/session")[1]["principal"] is None, "the drain ends the session")
            status, said = Admin(admin.url.geturl()).sign_in()
            self.assertEqual(status, 503, said)
            busy.reset()  # whoever only half-closes would be waited for
        self.assertEqual(server.wait(), 0)


def busy_with_sleep(server):
    with server.connect() as other:
        return any(c["in_flight"] > 0 and c["messages"] == 2 for c in other.call("connection.list")["connections"])


class Tokens(AdminTest):
    def begin(self, **rights):
        self.folder = scratch(self.addCleanup)
        return self.open("--tokens", write_tokens(self.folder, rights))

    def test_a_token_says_who_one_is(self):
        _, admin = self.begin(alice="echo")
        self.assertEqual(refusal(admin.sign_in()), (401, "AUTH"))
        self.assertEqual(refusal(admin.sign_in("wrong")), (401, "AUTH"))
        self.assertEqual(admin.sign_in(token_of("alice"))[0], 200)
        self.assertEqual(admin.principal, "token:alice")
        self.assertEqual(admin.call("echo", 1), (200, {"result": 1}))
        self.assertEqual(refusal(admin.call("server.info")), (403, "DENIED"))

    def test_guesses_keep_nobody_of_this_machine_out(self):
        _, admin = self.begin(alice="*")
        for _ in range(4):
            self.assertEqual(refusal(admin.sign_in("wrong")), (401, "AUTH"))
        self.assertEqual(admin.sign_in(token_of("alice"))[0], 200)

    def test_only_so_many_look_on_and_nobody_takes_all_places(self):
        _, admin = self.begin(alice="server.info", bob="server.info", carol="server.info")
        statuses = []
        for name in ["alice"] * 5 + ["bob"] * 4 + ["carol"]:
            one = Admin(admin.url.geturl())
            one.sign_in(token_of(name))
            statuses += [self.look_on(one) for _ in range(4)]
        self.assertEqual(statuses, [200] * 16 + [429] * 4 + [200] * 16 + [429] * 4)

    def test_a_token_that_is_revoked_ends_the_session(self):
        server, admin = self.begin(alice="*", bob="*")
        admin.sign_in(token_of("alice"))
        write_tokens(self.folder, {"bob": "*"})
        server.signal(signal.SIGHUP)
        eventually(lambda: admin.api("GET", "/api/session")[1]["principal"] is None, "the session ends with its token")

    def test_topology_asks_for_the_right(self):
        _, admin = self.begin(alice="server.topology", bob="echo")
        for name, status in (("alice", 200), ("bob", 403)):
            self.assertEqual(admin.ask("GET", "/debug/topology", headers={"Authorization": f"Bearer {token_of(name)}"})[0], status)
        self.assertEqual(admin.text("/debug/topology")[0], 401)
        self.assertEqual(admin.text("/metrics")[0], 200)  # on loopback

    def test_live_leaves_out_what_the_rights_lack(self):
        _, admin = self.begin(alice="server.info")
        admin.sign_in(token_of("alice"))
        connection = admin.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
        stream = connection.getresponse()
        said = Stream(stream).next("info")
        self.assertEqual((said["info"]["server"], said["topology"], said["queues"]), ("ergon", None, None))


class Slow(AdminTest):
    def test_who_does_not_read_a_stream_misses_events(self):
        _, admin = self.open_with_large_events()

        def look():
            connection = admin.connection()
            self.addCleanup(connection.close)
            connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
            return Stream(connection.getresponse())

        def told(stream):
            return stream.next("info")["info"]["time"]
        slow, quick = look(), look()
        seen = [told(quick) for _ in range(3)]
        self.assertLessEqual(told(slow), seen[1])
        self.assertGreater(told(slow), seen[2], "what it did not read was kept for it")


class Places(AdminTest):
    def test_a_unix_socket_knows_the_user(self):
        path = os.path.join(scratch(self.addCleanup), "admin.sock")
        _, (url,) = self.start(admin=("unix://" + path,))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o660)
        admin = Admin(url)
        eventually(lambda: admin.text("/readyz") == (200, "ready\n"), "/readyz says that the server has started")
        self.assertEqual(admin.sign_in()[0], 200)
        self.assertTrue(admin.principal.startswith("unix:"), admin.principal)

    def test_tls_has_a_secure_cookie_and_beyond_loopback_metrics_ask(self):
        folder = scratch(self.addCleanup)
        cert, key = self_signed(folder)
        tokens = write_tokens(folder, {"alice": "server.info", "bob": "echo"})
        _, (url,) = self.start("--tls-cert", cert, "--tls-key", key, "--tokens", tokens, admin=("https://0.0.0.0:0",))
        admin = Admin(url, trusting(cert))
        eventually(lambda: admin.text("/readyz")[0] == 200, "/readyz says that the server has started")
        status, headers, _ = admin.ask("POST", "/api/session", json.dumps({"token": token_of("alice")}), JSON)
        self.assertEqual(status, 200)
        self.assertIn("; Secure", headers["Set-Cookie"])
        self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
        self.assertEqual(admin.text("/metrics")[0], 401)
        for name, status in (("alice", 200), ("bob", 403)):
            self.assertEqual(admin.ask("GET", "/metrics", headers={"Authorization": f"Bearer {token_of(name)}"})[0], status, name)

    def test_a_reload_brings_new_certificates(self):
        folder = scratch(self.addCleanup)
        cert, key = self_signed(folder)
        server, (url,) = self.start("--tls-cert", cert, "--tls-key", key, admin=("https://127.0.0.1:0",))
        old = trusting(cert)
        eventually(lambda: Admin(url, old).text("/readyz")[0] == 200, "/readyz says that the server has started")
        self_signed(folder)  # in its place
        server.signal(signal.SIGHUP)

        def is_new():
            with contextlib.suppress(ssl.SSLError):
                return Admin(url, trusting(cert)).text("/healthz") == (200, "ok\n")
        eventually(is_new, "the new certificate is shown")
        with self.assertRaises(ssl.SSLError):
            Admin(url, old).text("/healthz")

    def test_plain_http_is_no_way_into_tls(self):
        folder = scratch(self.addCleanup)
        cert, key = self_signed(folder)
        _, (url,) = self.start("--tls-cert", cert, "--tls-key", key, admin=("https://127.0.0.1:0",))
        with self.assertRaises((http.client.HTTPException, OSError)):
            Admin(url.replace("https://", "http://")).ask("GET", "/healthz")
        with self.assertRaises(ssl.SSLError):
            Admin(url, ssl.create_default_context()).ask("GET", "/healthz")
        self.assertEqual(Admin(url, trusting(cert)).text("/healthz"), (200, "ok\n"))


class Stuck(AdminTest):
    def test_a_loop_that_hangs_is_not_ready_and_the_process_lives(self):
        place = scratch(self.addCleanup)
        module = build_handlers(place, "hang", HANG)
        pipe = os.path.join(place, "pipe")
        os.mkfifo(pipe)
        server, admin = self.open("--module", module, "--loops", "2")
        with server.connect() as client:
            client.send("hang", pipe)
            hangs = "a thread does not finish its round: loop "
            eventually(lambda: admin.text("/readyz")[1].startswith(hangs), "/readyz tells of the loop that hangs")
            self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
            os.close(os.open(pipe, os.O_WRONLY))
            eventually(lambda: admin.text("/readyz") == (200, "ready\n"), "/readyz tells that the loop is back")
        self.assertEqual(server.stop(), 0, server.log_text())


if __name__ == "__main__":
    unittest.main()
