"""Spans as a collector gets them, decoded by OpenTelemetry's own schema from npm: of calls, nested calls, tasks, their attempts
and workers, over kill -9; and collectors that refuse, ask for a pause, or are not there.  Without npm, or where its registry is
out of reach, the test is skipped and says so."""
import base64
import collections
import http.server
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import unittest

import interop
import trace_test
from harness import LIMIT, SOURCE, RemoteError, Server, eventually, scratch
from trace_test import OTHER, PARENT, STATE, TRACE, start_worker

PROTOBUF = {"Content-Type": "application/x-protobuf"}
PARENT_SPAN = PARENT.split("-")[2]


class Decoder:
    def __init__(self):
        environment = {**os.environ, "NODE_PATH": os.path.join(interop.NPM, "node_modules")}
        self.node = subprocess.Popen(["node", os.path.join(interop.HERE, "otlp_decode.js")], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, env=environment)

    def decode(self, body):
        self.node.stdin.write(base64.b64encode(body) + b"\n")
        self.node.stdin.flush()
        decoded = json.loads(self.node.stdout.readline())
        assert decoded["same"], "bytes that the schema does not know"
        return decoded["told"]

    def close(self):
        self.node.stdin.close()
        self.node.stdout.close()
        self.node.wait()


def value_of(any_value):
    [(kind, value)] = any_value.items()
    return int(value) if kind == "intValue" else value


def attributes(of):
    return {a["key"]: value_of(a["value"]) for a in of.get("attributes", ())}


class Span:
    def __init__(self, span, resource):
        def hex_of(field):
            return base64.b64decode(span.get(field, "")).hex()

        self.trace, self.id, self.parent = hex_of("traceId"), hex_of("spanId"), hex_of("parentSpanId")
        self.name, self.kind, self.state = span["name"], span["kind"], span.get("traceState", "")
        self.start, self.end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        self.attributes, self.resource = attributes(span), resource
        self.flags = span["flags"]
        status = span.get("status", {})
        self.failed, self.text = status.get("code") == "STATUS_CODE_ERROR", status.get("message", "")

    @property
    def context(self):
        """As a traceparent."""
        return f"00-{self.trace}-{self.id}-01"


class Collector:
    """Answers each request with the next of `answers`, (status, headers) and perhaps a body, or 200."""

    def __init__(self, decoder, port=0, tls=None):
        self.requests, self.spans, self.answers = [], [], []
        self.lock = threading.Lock()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers, *answer = collector.take(self.path, self.headers, body, decoder)
                answer = b"".join(answer)
                self.send_response_only(status)
                for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if answer:
                    self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def take(self, path, headers, body, decoder):
        with self.lock:
            told = decoder.decode(body)
            self.requests.append((path, dict(headers), told))
            answer = self.answers.pop(0) if self.answers else (200, {})
            if answer[0] == 200:
                for resource_spans in told["resourceSpans"]:
                    resource = attributes(resource_spans["resource"])
                    for scope_spans in resource_spans["scopeSpans"]:
                        assert scope_spans["scope"]["name"] == "ergond"
                        self.spans += [Span(s, resource) for s in scope_spans["spans"]]
            return answer

    def named(self, name):
        with self.lock:
            return [s for s in self.spans if s.name == name]

    def one(self, name, count=1):
        """The only span of this name; or so many, by their begin."""
        eventually(lambda: len(self.named(name)) >= count, f"{count} spans \"{name}\" are exported")
        found = sorted(self.named(name), key=lambda s: s.start)
        assert len(found) == count, [(s.name, s.attributes) for s in self.spans]
        return found[0] if count == 1 else found

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def reserve_port(add_cleanup):
    """A port that no other process is given, between two collectors and before the first, either."""
    kept = socket.socket()
    add_cleanup(kept.close)
    kept.bind(("127.0.0.1", 0))
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return kept.getsockname()[1]


class OtlpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.decoder = Decoder()
        cls.addClassCleanup(cls.decoder.close)
        trace_test.place = scratch(cls.addClassCleanup)
        trace_test.build()

    def setUp(self):
        self.collector = self.collect()

    def collect(self, port=0, tls=None):
        collector = Collector(self.decoder, port, tls)
        self.addCleanup(collector.close)
        return collector

    def flags(self, *more, port=None, scheme="http"):
        return ("--log-level", "warn", "--blocking", "2", "--module", os.path.join(trace_test.place, "trace.so"),
                "--workers-methods", "seen,unsteady,held", "--trace-endpoint",
                f"{scheme}://127.0.0.1:{port or self.collector.port}", *more)

    def serve(self, *more, **how):
        """A server and a client of it."""
        server = Server(*self.flags(*more, **how))
        self.addCleanup(server.discard)
        client = server.connect()
        self.addCleanup(client.close)
        return server, client

    def submit(self, client, method, *params, **options):
        return client.call("task.submit", method, list(params), options)["id"]

    def ended(self, client, *ids):
        self.assertEqual(len(client.call("task.wait", list(ids), {"timeout": "60s"})["ended"]), len(ids))
        return [client.call("task.get", i, {"result": True}) for i in ids]

    def figures(self, client):
        """Without `failing`, which the tests of collectors look at."""
        told = client.call("server.info")["spans"]
        return {name: told[name] for name in ("ended", "exported", "dropped", "waiting")}

    def is_failing(self, client):
        return client.call("server.info")["spans"]["failing"]


class Spans(OtlpTest):
    def test_a_call_is_a_span_below_its_caller(self):
        _, client = self.serve()
        self.assertEqual(client.call("task.call", "echo", ["x"], {"traceparent": PARENT, "tracestate": STATE}), "x")
        span = self.collector.one("echo")
        self.assertEqual((span.trace, span.parent, span.kind), (TRACE, PARENT_SPAN, "SPAN_KIND_SERVER"))
        self.assertEqual((span.state, span.flags, span.failed), (STATE, 0x301, False))
        self.assertEqual(span.attributes, {"rpc.system": "msgpack-rpc", "rpc.method": "echo"})
        self.assertLessEqual(span.start, span.end)
        self.assertEqual(span.resource["service.name"], "ergond")
        self.assertEqual(span.resource["service.version"], client.call("server.info")["version"])
        self.assertRegex(span.resource["service.instance.id"], "^[0-9a-f]{32}$")
        path, headers, _ = self.collector.requests[0]
        self.assertEqual((path, headers["Content-Type"]), ("/v1/traces", "application/x-protobuf"))

    def test_what_fails_says_why(self):
        _, client = self.serve()
        for method, params, deadline in (("fail", ["ODD", "not today"], "1h"), ("sleep", ["1h"], "50ms")):
            with self.assertRaises(RemoteError):
                client.call("task.call", method, params, {"traceparent": PARENT, "deadline": deadline})
        odd, late = self.collector.one("fail"), self.collector.one("sleep")
        self.assertEqual((odd.failed, odd.text, odd.attributes["error.type"]), (True, "not today", "ODD"))
        self.assertEqual((late.failed, late.attributes["error.type"]), (True, "DEADLINE"))

    def test_nested_calls_stand_below_their_caller_up_to_the_worker(self):
        server, client = self.serve()
        start_worker(self, server, os.devnull)
        for outer in ("outer", "outer_stepped"):
            context, state = client.call("task.call", outer, [], {"traceparent": PARENT, "tracestate": STATE})
            above = self.collector.one(outer)
            eventually(lambda: above.id in [s.parent for s in self.collector.named("seen")], "the nested call is exported")
            below = next(s for s in self.collector.named("seen") if s.parent == above.id)
            self.assertEqual((above.parent, above.kind), (PARENT_SPAN, "SPAN_KIND_SERVER"))
            self.assertEqual((below.trace, below.kind, below.flags), (TRACE, "SPAN_KIND_INTERNAL", 0x101))
            self.assertEqual((context, state), (below.context, STATE))

    def test_a_task_its_waits_and_attempts_at_a_worker(self):
        server, client = self.serve()
        notes = os.path.join(scratch(self.addCleanup), "notes")
        start_worker(self, server, notes)
        task, = self.ended(client, self.submit(client, "unsteady", 3, traceparent=PARENT, retries=2, backoff="1ms"))
        whole = self.collector.one("task unsteady")
        waits, attempts = self.collector.one("wait unsteady", 3), self.collector.one("process unsteady", 3)
        self.assertEqual((whole.trace, whole.parent, whole.kind), (TRACE, PARENT_SPAN, "SPAN_KIND_INTERNAL"))
        self.assertEqual(whole.attributes,
                         {"messaging.system": "ergon", "messaging.destination.name": "unsteady", "messaging.message.id": task["id"],
                          "ergon.task.state": "done", "ergon.task.attempts": 3, "ergon.task.tenant": task["tenant"]})
        self.assertFalse(whole.failed)
        for spans in (waits, attempts):
            self.assertEqual([s.parent for s in spans], [whole.id] * 3)
            self.assertEqual([s.attributes["ergon.task.attempt"] for s in spans], [1, 2, 3])
        for wait, attempt in zip(waits, attempts):
            self.assertLessEqual(wait.start, wait.end)
            self.assertEqual((wait.end, attempt.kind), (attempt.start, "SPAN_KIND_CLIENT"))
        self.assertEqual([(a.failed, a.text) for a in attempts], [(True, "not yet")] * 2 + [(False, "")])
        self.assertEqual(attempts[0].attributes["error.type"], "ODD")
        self.assertEqual(task["result"], attempts[2].context)
        with open(notes) as f:
            self.assertEqual([line.split() for line in f], [[str(n), a.context] for n, a in enumerate(attempts, 1)])
        self.assertEqual(len({s.id for s in (whole, *waits, *attempts)}), 7)

    def test_a_message_names_its_actor_and_what_its_turn_sends_is_below_it(self):
        _, client = self.serve()
        client.call("actor.call", "counter/a", "add", [3])
        client.call("actor.call", "counter/a", "give", ["counter/b", 3], {"traceparent": PARENT})
        whole, turn = self.collector.one("task counter.give"), self.collector.one("process counter.give")
        told, *parts = (self.collector.one(f"{what} counter.add") for what in ("task", "wait", "process"))
        self.assertEqual([s.attributes["ergon.actor"] for s in (whole, turn)], ["counter/a"] * 2)
        self.assertEqual([s.attributes["ergon.actor"] for s in (told, *parts)], ["counter/b"] * 3)
        self.assertEqual((whole.trace, whole.parent, turn.parent), (TRACE, PARENT_SPAN, whole.id))
        self.assertEqual((told.trace, told.parent, [s.parent for s in parts]), (TRACE, turn.id, [told.id] * 2))

    def test_a_task_of_a_handler_here_that_dies(self):
        _, client = self.serve()
        self.ended(client, self.submit(client, "fail", "ODD", "no", traceparent=PARENT, retries=1, backoff="1ms"))
        whole, attempts = self.collector.one("task fail"), self.collector.one("process fail", 2)
        self.assertEqual((whole.failed, whole.attributes["ergon.task.state"], whole.attributes["error.type"]), (True, "dead", "ODD"))
        self.assertEqual([a.kind for a in attempts], ["SPAN_KIND_CONSUMER"] * 2)
        self.assertEqual(attempts[0].attributes["messaging.operation.type"], "process")

    def test_the_flag_of_the_parent_counts_and_then_the_ratio(self):
        server, client = self.serve("--trace-sample", "1")
        start_worker(self, server, os.devnull)
        self.assertEqual(client.call("task.call", "seen", [], {"traceparent": OTHER}), [OTHER, None])
        context, _ = client.call("seen")
        root = self.collector.one("seen")
        self.assertEqual((root.parent, root.context, root.kind), ("", context, "SPAN_KIND_SERVER"))
        task, = self.ended(client, self.submit(client, "seen"))
        whole, attempt = self.collector.one("task seen"), self.collector.one("process seen")
        self.assertEqual((whole.parent, whole.context), ("", task["traceparent"]))
        self.assertEqual((attempt.trace, attempt.parent, attempt.context), (whole.trace, whole.id, task["result"][0]))
        self.assertNotEqual(root.trace, whole.trace)

    def test_without_a_ratio_nothing_begins_a_trace(self):
        _, client = self.serve()
        client.call("echo", 1)
        self.assertIsNone(self.ended(client, self.submit(client, "echo", 1))[0]["traceparent"])
        self.assertEqual(self.figures(client), {"ended": 0, "exported": 0, "dropped": 0, "waiting": 0})

    def test_a_trace_goes_on_after_kill_9(self):
        folder = scratch(self.addCleanup)
        notes, store = os.path.join(folder, "notes"), os.path.join(folder, "store")
        server, client = self.serve("--store", store)
        start_worker(self, server, notes)
        task = self.submit(client, "held", traceparent=PARENT)
        eventually(lambda: os.path.exists(notes) and "1 " in open(notes).read(), "the first attempt is under way")
        eventually(lambda: client.call("task.get", task)["state"] == "running", "the server has seen that")
        server.discard()
        server, client = self.serve("--store", store)
        start_worker(self, server, notes)
        result = self.ended(client, task)[0]["result"]
        whole, (first, second) = self.collector.one("task held"), self.collector.one("process held", 2)
        self.assertEqual((whole.trace, whole.parent), (TRACE, PARENT_SPAN))
        self.assertEqual([first.parent, second.parent], [whole.id] * 2)
        self.assertEqual([first.failed, second.failed], [True, False])
        self.assertEqual(first.attributes["error.type"], "INTERRUPTED")
        self.assertEqual(second.context, result)
        with open(notes) as f:
            self.assertEqual(f.readline().split(), ["1", first.context])
        self.assertNotEqual(first.start, first.end)

    def test_what_ended_last_is_sent_before_the_server_ends(self):
        server, client = self.serve()
        client.call("task.call", "echo", [1], {"traceparent": PARENT})
        client.close()
        self.assertEqual(server.stop(), 0)
        self.assertEqual(len(self.collector.named("echo")), 1)


class Collectors(OtlpTest):
    def test_one_that_asks_for_a_pause_gets_all_of_it_later_and_once(self):
        self.collector.answers = [(503, {"Retry-After": "1"}), (429, {}), (502, {}), (504, {})]
        _, client = self.serve()
        for n in range(100):
            client.call("task.call", "echo", [n], {"traceparent": PARENT})
        self.collector.one("echo", 100)
        self.assertGreaterEqual(len(self.collector.requests), 5)
        eventually(lambda: self.figures(client) == {"ended": 100, "exported": 100, "dropped": 0, "waiting": 0}, "all is accounted for")

    def test_what_one_refuses_is_dropped_and_counted(self):
        self.collector.answers = [(400, {})]
        server, client = self.serve()
        client.call("task.call", "echo", [1], {"traceparent": PARENT})
        eventually(lambda: self.figures(client)["dropped"] == 1, "the batch is dropped")
        client.call("task.call", "echo", [2], {"traceparent": PARENT})
        self.collector.one("echo")
        eventually(lambda: self.figures(client) == {"ended": 2, "exported": 1, "dropped": 1, "waiting": 0}, "both are accounted for")
        eventually(lambda: "spans are not exported" in server.log_text(), "the log has it")
        self.assertFalse(self.is_failing(client))

    def test_one_that_refuses_is_quoted_once(self):
        refusal = (400, PROTOBUF, b"\x08\x03\x12\x0aquota\nover")  # a google.rpc.Status
        self.collector.answers = [refusal, refusal, (400, {"Content-Type": "text/html"}, b"\x12\x03ody")]
        server, client = self.serve()
        for n in range(1, 4):
            client.call("task.call", "echo", [n], {"traceparent": PARENT})
            eventually(lambda: self.figures(client)["dropped"] == n, "the batch is dropped")
            self.assertTrue(self.is_failing(client))
        eventually(lambda: r'says="quota\nover"' in server.log_text(), "the log quotes it")
        self.assertEqual(server.log_text().count("spans are not exported"), 1)
        self.assertNotIn("ody", server.log_text())

    def test_spans_that_one_rejects_are_dropped_and_told_once(self):
        def partial(rejected, text):
            said = b"\x08" + bytes([rejected]) + b"\x12" + bytes([len(text)]) + text
            return 200, PROTOBUF, b"\x0a" + bytes([len(said)]) + said

        self.collector.answers = [partial(1, b"too old"), partial(9, b"far too many"), partial(0, b"slow down"), (200, PROTOBUF)]
        server, client = self.serve()
        for n, exported, dropped in ((1, 0, 1), (2, 0, 2), (3, 1, 2), (4, 2, 2)):
            client.call("task.call", "echo", [n], {"traceparent": PARENT})
            wanted = {"ended": n, "exported": exported, "dropped": dropped, "waiting": 0}
            eventually(lambda: self.figures(client) == wanted, f"{wanted} are accounted for")
            self.assertFalse(self.is_failing(client))
        eventually(lambda: "too old" in server.log_text(), "the log quotes it")
        log = server.log_text()
        self.assertEqual((log.count("spans are rejected"), log.count("too old"), log.count("with a warning")), (1, 1, 0))

    def test_a_pause_may_be_a_date_by_the_collectors_clock(self):
        self.collector.answers = [(503, {"Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:38 GMT"}),
                                  (503, {"Retry-After": "Sunday, 06-Nov-94 08:49:37 GMT"})]
        _, client = self.serve()
        client.call("task.call", "echo", [1], {"traceparent": PARENT})
        self.collector.one("echo")
        eventually(lambda: not self.is_failing(client), "all is well again")

    def test_one_that_is_not_there_costs_bounded_memory_and_nothing_else(self):
        port = reserve_port(self.addCleanup)
        spans, most = 10000, 8192
        server, client = self.serve(port=port)
        batch = 500
        for _ in range(spans // batch):
            ids = [client.send("task.call", "echo", ["x" * 100], {"traceparent": PARENT}) for _ in range(batch)]
            for i in ids:
                self.assertEqual(client.result(i), "x" * 100)
        told = self.figures(client)
        self.assertEqual((told["ended"], told["exported"]), (spans, 0))
        self.assertLessEqual(told["waiting"], most)
        self.assertGreaterEqual(told["dropped"], spans - most)
        self.assertEqual(told["waiting"] + told["dropped"], spans)
        again = self.collect(port)
        # A batch that was refused often enough may have been dropped since, so that less is exported than waited.
        eventually(lambda: self.figures(client)["waiting"] == 0, "nothing waits any more")
        told = self.figures(client)
        self.assertGreater(told["exported"], 0)
        self.assertEqual(told["exported"], len(again.spans))
        self.assertEqual(told["exported"] + told["dropped"], spans)
        self.assertEqual(collections.Counter(collections.Counter(s.id for s in again.spans).values()), {1: len(again.spans)})

    def test_a_server_ends_though_its_collector_never_answers(self):
        asked = threading.Event()
        silent = threading.Event()
        self.addCleanup(silent.set)
        take = self.collector.take

        def wait(*arguments):
            asked.set()
            silent.wait(LIMIT)
            return take(*arguments)

        self.collector.take = wait
        server, client = self.serve()
        client.call("task.call", "echo", [1], {"traceparent": PARENT})
        self.assertTrue(asked.wait(LIMIT), "the collector is asked")
        client.close()
        self.assertEqual(server.stop(), 0)

    def test_wrong_endpoints_and_ratios_are_refused_at_the_start(self):
        for flags, said in ((("--trace-endpoint", "127.0.0.1:4318"), "write http://"),
                            (("--trace-endpoint", "http://a:99999"), "write http://"),
                            (("--trace-sample", "1.5"), "out of range"), (("--trace-sample", "half"), "not a ratio"),
                            (("--trace-sample", "-1"), "not a ratio")):
            with self.assertRaises(AssertionError) as caught:
                Server(*flags)
            self.assertIn(said, str(caught.exception))


class Https(OtlpTest):
    def setUp(self):
        self.folder = scratch(self.addCleanup)

    def certificate(self, name, self_named=True):
        """Of an authority of its own; without `self_named` for that name, and not for this address."""
        cert, key = os.path.join(self.folder, name + ".crt"), os.path.join(self.folder, name + ".key")
        if self_named:
            subprocess.run([os.path.join(SOURCE, "scripts", "certificate.sh"), name, cert, key, "2"], check=True)
        else:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                            "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-out", cert, "-keyout", key],
                           check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        return cert, tls

    def write(self, text, name="headers"):
        path = os.path.join(self.folder, name)
        with open(path, "w", opener=lambda p, flags: os.open(p, flags, 0o600), newline="") as out:
            out.write(text)
        return path

    def tell(self, client, count=1):
        for n in range(count):
            client.call("task.call", "echo", [n], {"traceparent": PARENT})

    def is_not_told(self, server, client, why):
        """The span waits, and the log says why."""
        self.tell(client)
        eventually(lambda: why in server.log_text(), f"the log says \"{why}\"")
        self.assertEqual((self.figures(client)["exported"], self.figures(client)["dropped"]), (0, 0))

    def test_spans_go_to_a_collector_whose_authority_is_named_and_each_connection_begins_anew(self):
        cert, tls = self.certificate("one")
        self.collector = self.collect(tls=tls)
        self.collector.answers = [(200, {"Connection": "close"}), (200, {}), (503, {"Connection": "close"})]
        server, client = self.serve("--trace-ca", cert, scheme="https")
        files = []
        for n in range(1, 5):
            self.tell(client)
            eventually(lambda: len(self.collector.named("echo")) == n, f"{n} spans are exported")
            files.append(server.fds())
        eventually(lambda: self.figures(client) == {"ended": 4, "exported": 4, "dropped": 0, "waiting": 0}, "all is accounted for")
        self.assertLessEqual(max(files), files[0] + 1)  # none is left open
        client.close()
        self.assertEqual(server.stop(), 0)

    def test_authorities_of_the_system_are_those_of_openssl(self):
        cert, tls = self.certificate("one")
        self.collector = self.collect(tls=tls)
        server = Server(*self.flags(scheme="https"), env={"SSL_CERT_FILE": cert})
        self.addCleanup(server.discard)
        with server.connect() as client:
            self.tell(client)
            self.collector.one("echo")

    def test_one_whose_authority_nobody_knows_gets_nothing(self):
        _, tls = self.certificate("one")
        self.collector = self.collect(tls=tls)
        self.is_not_told(*self.serve(scheme="https"), "its certificate is not trusted: self-signed certificate")
        other, _ = self.certificate("other")
        self.is_not_told(*self.serve("--trace-ca", other, scheme="https"), "its certificate is not trusted")
        self.assertEqual(self.collector.requests, [])

    def test_one_of_another_name_gets_nothing(self):
        cert, tls = self.certificate("other.example", self_named=False)
        self.collector = self.collect(tls=tls)
        self.is_not_told(*self.serve("--trace-ca", cert, scheme="https"), "IP address mismatch")
        self.assertEqual(self.collector.requests, [])

    def test_one_that_speaks_no_tls_is_named_and_the_next_there_that_does_is_told(self):
        cert, tls = self.certificate("one")
        self.collector = self.collect(reserve_port(self.addCleanup))
        server, client = self.serve("--trace-ca", cert, scheme="https")
        self.is_not_told(server, client, "the TLS handshake fails")
        self.collector.close()
        again = self.collect(self.collector.port, tls)
        self.collector.close = lambda: None
        again.one("echo")
        eventually(lambda: self.figures(client)["exported"] == 1, "it is accounted for")

    def test_headers_of_a_file_are_sent_and_read_again_at_a_reload(self):
        self.collector = self.collect()
        headers = self.write("# ours\nAuthorization: Bearer one\nX-Scope-OrgID: 7\n")
        server, client = self.serve("--trace-headers-file", headers)
        self.tell(client)
        self.collector.one("echo")
        sent = self.collector.requests[-1][1]
        self.assertEqual((sent["Authorization"], sent["X-Scope-OrgID"]), ("Bearer one", "7"))
        self.write("Authorization: Bearer two\r\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: "with the headers of before" in server.log_text(), "the log refuses the file")
        self.tell(client)
        self.collector.one("echo", 2)
        self.assertEqual(self.collector.requests[-1][1]["Authorization"], "Bearer one")
        self.write("Authorization: Bearer three\n")
        server.signal(signal.SIGHUP)

        def is_new():
            self.tell(client)
            return self.collector.requests[-1][1].get("Authorization") == "Bearer three"

        eventually(is_new, "the new token is sent")
        self.assertNotIn("X-Scope-OrgID", self.collector.requests[-1][1])
        self.assertNotIn("Bearer", server.log_text())

    def test_wrong_files_are_refused_at_the_start(self):
        self.collector = self.collect()
        rubbish = self.write("Host: elsewhere\n")
        for scheme, flags, said in (("http", ("--trace-headers-file", rubbish), "line 1: this header is the server's own to say"),
                                    ("http", ("--trace-headers-file", "/nowhere/at/all"), "cannot be read"),
                                    ("https", ("--trace-ca", rubbish), "holds no certificate in PEM"),
                                    ("https", ("--trace-ca", "/nowhere/at/all"), "cannot be read")):
            with self.assertRaises(AssertionError) as caught:
                Server(*self.flags(*flags, scheme=scheme))
            self.assertIn(said, str(caught.exception))


if __name__ == "__main__":
    interop.needs_npm()
    unittest.main()
