"""The command line against a real server: every command, what it prints where, and its exit status."""
import base64
import hashlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness import (AUTH, CONNECT, ERGON, INTERRUPTED, LIMIT, LIMITED, NOT_FOUND, OK, REMOTE, TIMEOUT, USAGE, Server,
                     eventually, run_ergon, scratch, self_signed)

place = None  # a folder for files
servers = {}  # by transport
cacert = None


def setUpModule():
    global place, cacert
    place = scratch(unittest.addModuleCleanup)
    cacert, key = self_signed(place)
    config = file("ergond.yaml", f"""
tls:
  cert: {cacert}
  key: {key}
listen:
  - url: ergon://127.0.0.1:0
  - url: ergons://127.0.0.1:0
  - url: unix://{place}/socket
""".encode())
    server = Server("--config", config, listen=())
    unittest.addModuleCleanup(server.__exit__, None)
    for transport in ("plain", "tls", "unix"):
        servers[transport] = server.process.stdout.readline().strip()


def file(name, data):
    path = os.path.join(place, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def unused_port():
    """A port that the test holds without listening; a server that is configured with it can bind it (support/postgres.py)."""
    kept = socket.socket()
    kept.bind(("127.0.0.1", 0))
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    unittest.addModuleCleanup(kept.close)
    return kept.getsockname()[1]


class CommandTest(unittest.TestCase):
    def ergon(self, *arguments, url=None, **more):
        return run_ergon(url or servers["plain"], *arguments, **more)

    def prints(self, expected, *arguments, **more):
        """Good, and exactly this on stdout; nothing on stderr."""
        status, out, err = self.ergon(*arguments, **more)
        self.assertEqual((status, err), (OK, ""), out[:200])
        self.assertEqual(out, expected)

    def says(self, status, *words, arguments, **more):
        """Fails with this status; the words are on stderr, and nothing is on stdout."""
        got, out, err = self.ergon(*arguments, **more)
        self.assertEqual((got, out), (status, b""), err)
        for word in words:
            self.assertIn(word, err)
        self.assertRegex(err, "^ergon( [a-z -]+)?: ")
        self.assertEqual(err.count("\n"), 1, err)


class Call(CommandTest):
    def test_arguments_that_parse_as_json_are_json(self):
        for text, shown in (("1", "1"), ("-1", "-1"), ("1.5", "1.5"), ("true", "true"), ("null", "null"),
                            ("[1,[2]]", "[1,[2]]"), ('{"a":{"b":null}}', '{"a":{"b":null}}'),
                            ("[]", "[]"), ("{}", "{}"), ("18446744073709551615", None)):
            if shown is not None:
                self.prints(shown.encode() + b"\n", "call", "echo", text)

    def test_other_arguments_are_strings(self):
        for text in ("hello", "two words", "1x", "tru", "10s", "2026-11-22", "10.0.0.1", "1.2.3", "käse", "a@b"):
            self.prints(text.encode(), "call", "echo", text)
        self.prints(b"@x", "call", "echo", '"@x"')
        self.prints(b"1", "call", "echo", '"1"')
        self.prints(b"-v", "call", "echo", "--", "-v")
        self.prints(b"", "call", "echo", "")

    def test_several_arguments_and_none(self):
        self.prints(b'[1,"a",[2]]\n', "call", "echo", "1", "a", "[2]")
        self.prints(b"null\n", "call", "echo")
        self.prints(b"6\n", "call", "sum", "1", "2", "3")

    def test_files_and_standard_input_are_bytes(self):
        data = os.urandom(3 << 20)
        path = file("random", data)
        self.prints(data, "call", "echo", "@" + path)
        self.prints(data, "call", "echo", "-", stdin=data)
        self.prints(b"", "call", "echo", "@" + file("empty", b""))
        self.prints(b"\0\n", "call", "echo", "-", stdin=b"\0\n")
        self.prints(hashlib.sha256(data).hexdigest().encode(), "call", "hash", "sha256", "@" + path, "hex")
        self.says(USAGE, "standard input", arguments=("call", "echo", "-", "-"), stdin=b"")
        self.says(USAGE, "/nowhere", arguments=("call", "echo", "@/nowhere"))

    def test_every_transport_carries_every_byte(self):
        data = os.urandom(3 << 20)
        path = file("transport", data)
        for transport, url in servers.items():
            with self.subTest(transport):
                self.prints(data, "--cacert", cacert, "call", "echo", "@" + path, url=url)

    def test_json_of_every_kind(self):
        self.prints(b'"hello"\n', "--json", "call", "echo", "hello")
        self.prints(b'[{"a":1.5},null]\n', "call", "--json", "echo", '[{"a":1.5},null]')
        path = file("bytes", b"\xff\0")
        encoded = base64.b64encode(b"\xff\0").decode()
        self.prints(json.dumps({"$bytes": encoded}, separators=(",", ":")).encode() + b"\n",
                    "--json", "call", "echo", "@" + path)
        self.prints(b"\xff\0", "call", "echo", json.dumps({"$bytes": encoded}))
        self.says(USAGE, "base64", arguments=("call", "echo", '{"$bytes": "***"}'))

    def test_a_terminal_gets_its_newline(self):
        for text, expected in (("hello", b"hello\r\n"), ('"line\\n"', b"line\r\n")):
            main, other = pty.openpty()
            done = subprocess.run([ERGON, "-s", servers["plain"], "call", "echo", text], stdout=other, timeout=LIMIT)
            os.close(other)
            self.assertEqual((done.returncode, os.read(main, 100)), (OK, expected))
            os.close(main)

    def on_terminal(self, *arguments):
        """What a terminal gets."""
        main, other = pty.openpty()
        done = subprocess.run([ERGON, "-s", servers["plain"], *arguments], stdout=other, stderr=other, timeout=LIMIT)
        os.close(other)
        seen = os.read(main, 4096)
        os.close(main)
        return done.returncode, seen

    def test_nothing_steers_a_terminal(self):
        for text, seen in (("a\x1b[31m", r"a\u001b[31m"), ("a\x9b31m", r"a\u009b31m"), ("a\u202eb\u2066", r"a\u202eb\u2066"),
                           ("a\x7fb\r", r"a\u007fb\u000d"), ("ä\tö", "ä\tö")):
            with self.subTest(seen):
                self.assertEqual(self.on_terminal("call", "echo", json.dumps(text)), (OK, (seen + "\r\n").encode()))
                json_seen = self.on_terminal("call", "--json", "echo", json.dumps(text))[1].decode()
                self.assertEqual(json.loads(json_seen), text)
                self.assertNotRegex(json_seen.rstrip(), "[\x00-\x1f\x7f-\x9f\u202e\u2066]")
                said = self.on_terminal("call", "fail", "A", json.dumps(text))[1].decode().rstrip()
                self.assertNotRegex(said, "[\x00-\x1f\x7f-\x9f\u202e\u2066]")
        path = file("steering", b"\xff\x1b[31m")
        self.assertEqual(self.on_terminal("call", "echo", "@" + path), (OK, rb"\xff\u001b[31m" + b"\r\n"))
        self.assertEqual(self.on_terminal("call", "--raw", "echo", "@" + path), (OK, b"\xff\x1b[31m"))
        self.prints(b"\xff\x1b[31m", "call", "echo", "@" + path)

    def test_a_notification_has_no_answer(self):
        self.prints(b"", "call", "--notify", "echo", "1")
        self.prints(b"", "call", "--notify", "nothing")

    def test_errors_of_the_server(self):
        self.says(REMOTE, "NO_SPACE: the disk is full", arguments=("call", "fail", "NO_SPACE", "the disk is full"))
        self.says(REMOTE, "BAD_PARAMS", arguments=("call", "sum", "three"))
        self.says(NOT_FOUND, "no method 'no.such'", "ergon methods", arguments=("call", "no.such"))
        self.says(NOT_FOUND, "no method 'no.such'", arguments=("call", "server.describe", "no.such"))
        self.says(LIMITED, "TOO_LARGE", arguments=("call", "decompress", '{"$bytes": "H4sIAAAAAAAAA0vMKQMANZfr4QMAAAA="}',
                                                   '{"limit": 1}'))
        self.says(LIMITED, "BUSY", arguments=("call", "fail", "BUSY", "come again"))
        status, out, err = self.ergon("-q", "call", "fail", "A", "b")
        self.assertEqual((status, out, err), (REMOTE, b"", ""))

    def test_deadline_and_timeout(self):
        self.says(TIMEOUT, "DEADLINE", arguments=("call", "--deadline", "50ms", "sleep", "100s"))
        self.says(TIMEOUT, arguments=("call", "--timeout", "50ms", "sleep", "100s"))
        self.prints(b"in time", "call", "--deadline", "50s", "echo", "in time")
        self.says(USAGE, "timeout", arguments=("call", "--timeout", "50", "sleep", "1s"))
        status, _, err = self.ergon("call", "--deadline", "fast", "echo", "1")
        self.assertIn(status, (REMOTE, USAGE))
        self.assertIn("deadline", err)

    def test_interrupted(self):
        process = subprocess.Popen([ERGON, "-s", servers["plain"], "call", "sleep", "100s"], stdout=subprocess.PIPE)
        eventually(lambda: self.parked() > 0, "the call is parked")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=LIMIT)[0], b"")
        self.assertEqual(process.returncode, INTERRUPTED)

    def parked(self):
        return sum(e["parked"] for e in json.loads(self.ergon("info", "--json")[1])["topology"]["executors"])

    def test_what_cannot_be_written_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ERGON, "-s", servers["plain"], "call", "echo", "x"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT, text=True)
        self.assertEqual(done.returncode, REMOTE)
        self.assertIn("standard output", done.stderr)


class Others(CommandTest):
    def test_ping(self):
        for url in servers.values():
            status, out, err = self.ergon("--cacert", cacert, "ping", url=url)
            self.assertEqual((status, err), (OK, ""))
            self.assertTrue(out.startswith(b"pong"), out)
            self.prints(b"", "--cacert", cacert, "-q", "ping", url=url)
        answer = json.loads(self.ergon("ping", "--json")[1])
        self.assertGreaterEqual(answer["ms"], 0)

    def test_ping_waits_for_a_server_that_comes_later(self):
        url = f"ergon://127.0.0.1:{unused_port()}"
        pinging = subprocess.Popen([ERGON, "-s", url, "ping", "--wait", "1m"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        with self.assertRaises(subprocess.TimeoutExpired):
            pinging.wait(timeout=0.3)
        with Server(listen=(url,)):
            out, err = pinging.communicate(timeout=LIMIT)
        self.assertEqual((pinging.returncode, err), (OK, ""))
        self.assertTrue(out.startswith("pong"), out)

    def test_ping_waits_no_longer_than_it_is_told(self):
        url = f"ergon://127.0.0.1:{unused_port()}"
        begin = time.monotonic()
        self.says(CONNECT, "no answer", "300ms", "refused", arguments=("ping", "--wait", "300ms"), url=url)
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        self.assertEqual(self.ergon("ping", "-q", "--wait", "100ms", url=url), (CONNECT, b"", ""))
        with socket.create_server(("127.0.0.1", 0)) as mute:
            url = f"ergon://127.0.0.1:{mute.getsockname()[1]}"
            self.says(CONNECT, "no answer", arguments=("ping", "--wait", "300ms"), url=url)

    def test_ping_does_not_wait_where_waiting_changes_nothing(self):
        self.says(USAGE, "URL", arguments=("ping", "--wait", "1h"), url="http://localhost")

    def test_info(self):
        status, out, err = self.ergon("info")
        self.assertEqual((status, err), (OK, ""))
        for word in ("version", "connections", "executors", "stepped", "blocking"):
            self.assertIn(word, out.decode())
        both = json.loads(self.ergon("info", "--json")[1])
        self.assertEqual(both["info"]["server"], "ergon")
        self.assertEqual({e["kind"] for e in both["topology"]["executors"]}, {"stepped", "blocking"})

    def test_methods(self):
        names = self.ergon("methods")[1].decode().split()
        for name in ("echo", "hash", "server.ping", "task.call"):
            self.assertIn(name, names)
        self.assertEqual(json.loads(self.ergon("methods", "--json")[1]), names)
        described = json.loads(self.ergon("methods", "-v", "--json")[1])
        self.assertEqual([d["name"] for d in described], names)
        table = self.ergon("methods", "-v")[1].decode().splitlines()
        self.assertEqual(len(table), len(names) + 1)
        self.assertTrue(any(line.startswith("hash") and "blocking" in line for line in table))

    def test_token(self):
        token, line = self.ergon("token", "alice", "--methods", "echo,server.*")[1].decode().splitlines()
        self.assertEqual(line, f"sha256:{hashlib.sha256(token.encode()).hexdigest()} alice echo,server.*")
        path = os.path.join(place, "tokens")
        first = self.ergon("token", "alice", "--file", path)[1].decode().strip()
        second = self.ergon("token", "bob", "--file", path)[1].decode().strip()
        with open(path) as f:
            lines = f.read().splitlines()
        self.assertEqual([l.split()[0] for l in lines],
                         ["sha256:" + hashlib.sha256(t.encode()).hexdigest() for t in (first, second)])
        self.assertNotEqual(first, second)
        self.assertEqual(os.stat(path).st_mode & 0o77, 0)
        self.says(USAGE, "principal", arguments=("token", "two words"))
        for name in ("a#b", "#a", 'a"b', "a\\b"):
            self.says(USAGE, "principal", "#", arguments=("token", name, "--file", path))
        self.says(USAGE, "--methods", arguments=("token", "carol", "--methods", "echo#", "--file", path))

    def test_a_token_opens_the_door(self):
        path = os.path.join(place, "door")
        token = self.ergon("token", "alice", "--file", path, "--methods", "echo")[1]
        token_file = file("alice.token", token)
        config = file("door.yaml", f"tokens_file: {path}\nlisten:\n  - url: ergon://127.0.0.1:0\n    auth: token\n".encode())
        server = Server("--config", config, listen=())
        server.urls.append(server.process.stdout.readline().strip())
        with server:
            url = server.urls[0]
            self.prints(b"x", "--token-file", token_file, "call", "echo", "x", url=url)
            self.prints(b"x", "--token-file", "-", "call", "echo", "x", url=url, stdin=token)
            self.prints(b"x", "call", "echo", "x", url=url, env={"ERGON_TOKEN_FILE": token_file})
            self.says(AUTH, "AUTH", arguments=("call", "echo", "x"), url=url)
            self.says(AUTH, "DENIED", arguments=("--token-file", token_file, "call", "sum", "1"), url=url)
            self.says(AUTH, arguments=("call", "echo", "x"), url=url, env={"ERGON_TOKEN": "wrong"})
            self.says(AUTH, "token", arguments=("ping", "--wait", "1h"), url=url, env={"ERGON_TOKEN": "wrong"})
            self.says(USAGE, "/nowhere", arguments=("--token-file", "/nowhere", "call", "echo", "x"), url=url)


class Servers(CommandTest):
    def test_the_environment_names_the_server(self):
        for transport in ("plain", "unix"):
            done = subprocess.run([ERGON, "call", "echo", "x"], capture_output=True, timeout=LIMIT,
                                  env={**os.environ, "ERGON_URL": servers[transport]})
            self.assertEqual((done.returncode, done.stdout), (OK, b"x"))

    def test_two_servers(self):
        with Server() as first, Server() as second:
            for server in (first, second, first):
                info = json.loads(self.ergon("info", "--json", url=server.urls[0])[1])["info"]
                self.assertEqual(info["pid"], server.pid)

    def test_nobody_there(self):
        self.says(CONNECT, "connection", arguments=("ping",), url=f"ergon://127.0.0.1:{unused_port()}")
        self.says(CONNECT, arguments=("ping",), url=f"unix://{place}/no-socket")
        for command in (("info",), ("methods",), ("call", "echo"), ("bench", "-n", "1")):
            self.assertEqual(self.ergon(*command, url=f"ergon://127.0.0.1:{unused_port()}")[0], CONNECT, command)
        status, _, err = self.ergon("ping", url=f"ergons://127.0.0.1:{unused_port()}")
        self.assertEqual(status, CONNECT)
        self.assertIn("refused; is ergond running there?", err)

    def test_urls_that_are_none(self):
        for url in ("http://localhost", "ergon://", "ergon://localhost:99999", "unix://", "localhost:7466x"):
            with self.subTest(url):
                self.says(USAGE, url, arguments=("ping",), url=url)

    def test_tls_asks_who_is_there(self):
        self.says(CONNECT, "certificate", arguments=("ping",), url=servers["tls"])
        self.prints(b"", "--insecure", "-q", "ping", url=servers["tls"])
        self.prints(b"", "-q", "ping", url=servers["tls"], env={"ERGON_CACERT": cacert})
        self.says(CONNECT, "not for elsewhere, but for localhost", "--server-name",
                  arguments=("--cacert", cacert, "--server-name", "elsewhere", "ping"), url=servers["tls"])
        self.says(USAGE, "/nowhere", arguments=("--cacert", "/nowhere", "ping"), url=servers["tls"])
        self.says(CONNECT, arguments=("--insecure", "ping"), url=servers["plain"].replace("ergon:", "ergons:"))

    def test_tls_below_1_2_is_refused(self):
        """Also where OpenSSL is configured to accept it, which by default it is not."""
        lax = {"OPENSSL_CONF": file("lax.cnf", b"openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = any\n"
                                               b"[any]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n")}
        for version, expected in (("-tls1_1", CONNECT), ("-tls1_2", TIMEOUT)):  # such a server does not answer a ping
            with subprocess.Popen(["openssl", "s_server", version, "-accept", "localhost:0", "-cert", cacert,
                                   "-key", cacert.replace(".crt", ".key")], env={**os.environ, **lax},
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as other:
                said = iter(other.stdout.readline, "")
                port = next(line for line in said if line.startswith("ACCEPT")).split(":")[-1].strip()

                def served():
                    return subprocess.run(["openssl", "s_client", "-connect", f"localhost:{port}"],
                                          env={**os.environ, **lax}, input=b"", capture_output=True).returncode == 0
                eventually(served, f"openssl s_server {version} serves its own kind")
                self.says(expected, arguments=("--cacert", cacert, "--timeout", "2s", "call", "server.ping"),
                          url=f"ergons://localhost:{port}", env=lax)
                other.kill()

    def test_a_peer_that_hangs_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def hang_up():
                peer, _ = listener.accept()
                peer.recv(1)
                peer.close()
            thread = threading.Thread(target=hang_up)
            thread.start()
            self.says(CONNECT, arguments=("call", "echo", "1"), url=f"ergon://127.0.0.1:{listener.getsockname()[1]}")
            thread.join()

    def test_a_peer_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"ergon://127.0.0.1:{listener.getsockname()[1]}"
            self.says(TIMEOUT, arguments=("--timeout", "100ms", "call", "echo", "1"), url=url)

    def test_a_server_that_is_full(self):
        with Server("--manager-queue", "1", "--blocking", "1") as server, server.connect() as client:
            def busy():
                for _ in range(100):
                    client.send("block", "100s")
                client.call("echo", 1)
                return self.ergon("call", "--deadline", "100ms", "block", "1s", url=server.urls[0])[0] == LIMITED
            eventually(busy, "it says that it is busy")
            client.reset()


class Bench(CommandTest):
    def report(self, *arguments, **more):
        status, out, err = self.ergon("bench", "--json", *arguments, **more)
        self.assertEqual((status, err), (OK, ""), out)
        return json.loads(out)

    def assert_consistent(self, report):
        self.assertEqual(report["answers"], report["requests"])
        self.assertEqual(report["good"], report["answers"])
        self.assertEqual((report["lost"], report["broken_connections"], report["errors"]), (0, 0, {}))
        self.assertAlmostEqual(report["answers_per_second"], report["answers"] / report["seconds"],
                               delta=report["answers_per_second"] / 100)
        latency = report["latency_us"]
        ordered = [latency[name] for name in ("p50", "p90", "p99", "p99.9", "max")]
        self.assertEqual(ordered, sorted(ordered))
        self.assertLessEqual(latency["min"], latency["mean"])
        self.assertLessEqual(latency["mean"], latency["max"])

    def test_every_transport(self):
        for transport, url in servers.items():
            with self.subTest(transport):
                report = self.report("--cacert", cacert, "-n", "20000", "-c", "8", "-i", "16", url=url)
                self.assertEqual(report["requests"], 20000)
                self.assert_consistent(report)
                # Each echo carries 64 bytes out and back.
                self.assertGreater(report["bytes_sent"], 20000 * 64)
                self.assertGreater(report["bytes_received"], 20000 * 64)

    def test_the_server_has_counted_the_same(self):
        with Server() as server:
            before = self.calls(server)
            self.report("-n", "5000", "-c", "3", url=server.urls[0])
            self.assertEqual(self.calls(server) - before, 5000)

    def calls(self, server):
        with server.connect() as client:
            return client.call("server.info")["tasks"]["calls"]

    def test_for_a_time(self):
        report = self.report("-d", "300ms", "-c", "4", "-i", "4")
        self.assertGreaterEqual(report["seconds"], 0.3)
        self.assertGreater(report["answers"], 0)
        self.assert_consistent(report)

    def test_other_methods_and_arguments(self):
        for arguments in (("-m", "server.ping"), ("-m", "sum", "1", "2"), ("-m", "hash", "sha256", "x"), ("-p", "100k")):
            report = self.report("-n", "200", "-c", "2", *arguments)
            self.assertEqual(report["answers"], 200)
            self.assert_consistent(report)

    def test_errors_are_counted(self):
        status, out, _ = self.ergon("bench", "--json", "-n", "100", "-m", "fail", "NO_SPACE", "full")
        report = json.loads(out)
        self.assertEqual((status, report["errors"], report["good"]), (REMOTE, {"NO_SPACE": 100}, 0))
        status, out, _ = self.ergon("bench", "-n", "10", "-m", "nothing")
        self.assertEqual(status, REMOTE)
        self.assertIn(b"NO_METHOD", out)

    def test_text(self):
        status, out, err = self.ergon("bench", "-n", "1000", "-c", "2")
        self.assertEqual((status, err), (OK, ""))
        self.assertRegex(out.decode(), r"answers +1,000\n")
        for word in ("throughput", "latency", "p99.9"):
            self.assertIn(word, out.decode())
        self.assertNotRegex(out.decode(), re.compile("\033"))

    def test_interrupted_it_still_prints_what_it_measured(self):
        eventually(lambda: self.open_connections() == 1, "those of other tests are closed")
        process = subprocess.Popen([ERGON, "-s", servers["plain"], "bench", "--json", "-d", "1000s", "-c", "2", "-i", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eventually(lambda: self.open_connections() >= 3, "the load has begun")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, err), (INTERRUPTED, b""))
        self.assertEqual(json.loads(out)["lost"], 0)

    def open_report(self, *arguments, **more):
        """Of a run that the machine may be too busy for: then it says so, and gives no result."""
        status, out, err = self.ergon("bench", "--json", *arguments, **more)
        report = json.loads(out)
        self.assertEqual((status, err), (REMOTE if "no_result" in report else OK, ""), out)
        self.assertEqual("latency_us" in report, status == OK)
        return report

    def test_an_open_loop_has_its_own_schedule(self):
        report = self.open_report("-r", "500", "-a", "fixed", "-d", "300ms", "-w", "50ms", "-t", "2")
        self.assertEqual((report["loop"], report["rate"]), ("open", 500))
        self.assertEqual(report["generator"]["due"], 150)
        self.assertLessEqual(report["requests"], 150)
        self.assertEqual(report["answers"], report["requests"])

    def test_a_rate_that_was_not_kept_is_no_result(self):
        slow = ("-r", "1000", "-c", "1", "-i", "1", "-d", "200ms", "-m", "block", "50ms")
        status, out, _ = self.ergon("bench", "--json", *slow)
        report = json.loads(out)
        self.assertEqual(status, REMOTE)
        self.assertIn("no_result", report)
        self.assertNotIn("latency_us", report)
        self.assertNotIn("answers_per_second", report)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "h.hgrm")
            status, out, _ = self.ergon("bench", "--histogram", path, *slow)
            self.assertEqual((status, os.path.exists(path)), (REMOTE, False))
        self.assertIn(b"no result ", out)
        self.assertNotIn(b"p99.9", out)

    def test_percentiles_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "h.hgrm")
            self.report("-n", "1000", "--histogram", path)
            with open(path, encoding="ascii") as file:
                text = file.read()
        self.assertRegex(text, r"^ +Value +Percentile +TotalCount +1/\(1-Percentile\)\n\n")
        self.assertRegex(text, r"\n +\d+\.\d+ 1\.0+ +1000\n#\[Mean ")

    def test_new_connections(self):
        for transport in ("plain", "tls"):
            report = self.open_report("--cacert", cacert, "--churn", "100", "-d", "300ms", url=servers[transport])
            self.assertEqual(report["opened"]["due"], 30)
            self.assertEqual((report["lost"], report["broken_connections"], report["opened"]["resumed"]), (0, 0, 0))
        report = self.report("--cacert", cacert, "-n", "1000", "-c", "200", "--handshake", "resumed", url=servers["tls"])
        self.assertEqual(report["opened"]["count"], 200)
        self.assertGreater(report["opened"]["resumed"], 0)

    def test_sizes_are_drawn(self):
        report = self.report("-n", "5000", "-p", "uniform:1k-3k")
        self.assertGreater(report["bytes_sent"], 5000 * 1900)
        self.assertLess(report["bytes_sent"], 5000 * 2200)
        self.assert_consistent(report)

    def test_a_sweep_ends_at_the_highest_rate_that_met_its_goal(self):
        status, out, err = self.ergon("bench", "--json", "--sweep", "p50=10s", "-r", "5000", "-d", "50ms")
        report = json.loads(out)
        met = [run["rate"] for run in report["runs"] if run["met"]]
        self.assertEqual(report["runs"][0]["rate"], 5000)
        if "no_result" in report:  # the generator was the limit
            self.assertEqual((status, err), (REMOTE, ""))
            self.assertNotIn("highest_rate", report)
            self.assertNotIn("at_highest", report)
            return
        self.assertEqual((status, err), (OK if met else REMOTE, ""))
        self.assertEqual(report["highest_rate"], max(met, default=0))
        if met:
            self.assertEqual(report["at_highest"]["rate"], max(met))

    def test_a_sweep_shows_each_percentile_once(self):
        for goal, columns in (("p99", ["rate", "p50", "p99", "max"]), ("p90", ["rate", "p50", "p99", "p90", "max"])):
            _, out, _ = self.ergon("bench", "--sweep", goal + "=1ns", "-r", "10", "-d", "5ms")
            self.assertEqual(out.decode().splitlines()[0].split(), columns)

    def open_connections(self):
        return json.loads(self.ergon("info", "--json")[1])["info"]["connections"]["open"]


if __name__ == "__main__":
    unittest.main()
