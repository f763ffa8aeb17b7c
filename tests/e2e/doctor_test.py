"""ergon doctor: each state that a real server can be brought into is found, and a healthy server has no findings."""
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import unittest

import crl_test
from bare_worker import Worker
from harness import (AUTH, CONNECT, ERGON, ERGOND, LIMIT, NO_CONTEXTS, OK, REMOTE, SANITIZED, SOURCE, USAGE, Client, RemoteError, Server,
                     build_handlers, eventually, make_token, run_ergon, scratch, self_signed, token_of, with_faults, write_tokens)
from stuck_test import HANG

sys.path.append(os.path.join(SOURCE, "tests", "support"))
import ending  # noqa: E402
import postgres  # noqa: E402

SEEN = set()  # findings that a test of this run has brought about


def tearDownModule():
    """No finding is without a test that produces it.  Only a run of all tests can tell."""
    if len(sys.argv) > 1:
        return
    checks = json.loads(run_ergon("none", "doctor", "--list", "--json")[1])
    unseen = {check["finding"] for check in checks} - SEEN - ({"crashed"} if SANITIZED else set())
    if unseen:
        raise AssertionError(f"no test produces {', '.join(sorted(unseen))}")


class DoctorTest(unittest.TestCase):
    def start(self, *flags, **more):
        """Steps that a busy machine interrupts are no finding of a test that has none that hang."""
        limit = () if "--module" in flags else ("--step-limit", "10s")
        server = Server(*limit, *flags, **more)
        self.addCleanup(server.discard)
        return server

    def connect(self, server):
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.ping")
        return client

    def report(self, server, *flags, url=None, env=None):
        """What doctor says of the server alone, and its exit status."""
        status, out, err = run_ergon(url or server.urls[0], "doctor", "--remote", "--json", *(flags or ("--for", "1ms")),
                                     env=env)
        self.assertIn(status, (OK, REMOTE), err)
        report = json.loads(out)
        SEEN.update(f["finding"] for f in report["findings"])
        return report, status

    def backup(self, place):
        path = os.path.join(place, "tasks.db")
        env = {"PATH": os.path.dirname(ERGOND) + ":" + os.environ["PATH"]}
        self.assertEqual(run_ergon("none", "store", "backup", path, path + ".copy", env=env)[0], OK)

    def findings(self, server, *flags, **more):
        return {f["finding"]: f for f in self.report(server, *flags, **more)[0]["findings"]}

    def becomes(self, server, name, *flags, about=None, **more):
        """The finding of this name, as soon as there is one."""
        seen = {}

        def there():
            seen["last"] = self.findings(server, *flags, **more)
            return name in seen["last"]

        try:
            eventually(there, f"doctor finds {name}")
        except AssertionError as missing:
            raise AssertionError(f"{missing}; it found {seen['last']}") from None
        finding = seen["last"][name]
        if about is not None:
            self.assertEqual(finding["about"], about)
        self.assertTrue(finding["text"] and finding["advice"])
        return finding

    def past_its_deadline(self, client, method, params, begun):
        """A call that had begun when its deadline passed.  On a busy machine one may not come so far, and another has more time."""
        for ms in (100, 1000, 10000, 50000):
            client.response(client.send("task.call", method, params, {"deadline": ms}))
            if begun():
                return
        self.fail(f"no call of {method} begins before its deadline")

    def while_doing(self, server, name, act, *flags):
        """The finding of a look during which `act` is done again and again, by a connection of its own."""
        over = threading.Event()

        def go_on():
            with server.connect() as client:
                while not over.is_set():
                    act(client)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            return self.becomes(server, name, "--for", "500ms", *flags)
        finally:
            over.set()
            thread.join()


class Healthy(DoctorTest):
    def test_nothing_is_found_where_all_is_well(self):
        place = scratch(self.addCleanup)
        server = self.start("--store", os.path.join(place, "tasks.db"))
        client = self.connect(server)
        with Worker(server, "well.done", slots=2) as worker:
            for _ in range(20):
                client.call("echo", "hi")
            tasks = [client.call("task.submit", "hash", ["sha256", "x"])["id"] for _ in range(20)]
            client.call("task.wait", tasks)
            task = client.call("task.submit", "well.done", [])["id"]
            worker.answer(worker.take()[0])
            client.call("task.wait", [task])
            client.call("task.submit", "echo", [], {"delay": "1h"})
            with Worker(server, "cart.add", context=True, actors={"cart": {}}) as host:
                call = client.send("actor.call", "cart/1", "add")
                host.answer(host.take()[0], [None, {"state": 1}])
                client.result(call)
            client.call("cron.put", "daily", "@daily", "echo", [])
            client.call("sem.create", "s", 2)
            client.call("sem.acquire", "s")
            self.backup(place)
            eventually(lambda: client.call("server.info")["store"]["backup"], "the server knows of the backup")
            report, status = self.report(server)
            self.assertEqual((report["findings"], report["not_asked"], status), ([], [], OK))
            self.assertGreater(report["checks"], 40)
            status, out, err = run_ergon(server.urls[0], "doctor", "--remote", "--for", "1ms")
            self.assertEqual((status, err), (OK, ""))
            self.assertIn(b"all well at ergon://", out)
            self.assertEqual(run_ergon(server.urls[0], "-q", "doctor", "--remote", "--for", "1ms"), (OK, b"", ""))

    def test_the_machine_is_well_too(self):
        server = self.start()
        env = with_faults(CLOCK="right", KERNEL="6.1.0")
        status, out, err = run_ergon(server.urls[0], "doctor", "--json", "--for", "1ms", env=env)
        self.assertEqual((json.loads(out)["findings"], status, err), ([], OK, ""))

    def test_what_is_not_allowed_is_named(self):
        place = scratch(self.addCleanup)
        server = self.start("--tokens", write_tokens(place, {"little": "server.info", "none": "echo"}))
        report, status = self.report(server, env={"ERGON_TOKEN": token_of("little")})
        self.assertEqual((report["findings"], status), ([], OK))
        self.assertIn("queue.list", report["not_asked"])
        self.assertNotIn("server.info", report["not_asked"])
        status, out, err = run_ergon(server.urls[0], "doctor", "--remote", env={"ERGON_TOKEN": token_of("none")})
        self.assertIn("not looked at, since the server does not let us: server.info", err)
        self.assertEqual(status, AUTH, out)  # who may not even ask that has not looked

    def test_on_the_servers_machine_that_is_looked_at_too(self):
        server = self.start()
        status, out, _ = run_ergon(server.urls[0], "doctor", "--json", "--for", "1ms")
        findings = {f["finding"] for f in json.loads(out)["findings"]}
        self.assertLessEqual(findings, {"clock_unsynchronised", "kernel_old"})  # the machine's own
        self.assertEqual(status, REMOTE if "clock_unsynchronised" in findings else OK)

    def test_the_rights_that_the_guide_gives_are_enough(self):
        with open(os.path.join(SOURCE, "docs", "troubleshooting.md")) as guide:
            rights = re.search(r"ergon token doctor .* --methods (\S+)", guide.read())[1]
        server = self.start("--tokens", write_tokens(scratch(self.addCleanup), {"boss": "*", "doctor": rights}))
        client = self.connect(server)
        client.call("server.auth", token_of("boss"))
        client.call("sem.create", "gpu", 2)
        client.call("sem.acquire", "gpu", {"permits": 2})
        client.call("sem.create", "gpu", 1)
        client.call("cron.put", "shut", "every 1s", "hash", ["sha256", "x"])
        client.call("queue.drain", "hash")
        doctor = {"ERGON_TOKEN": token_of("doctor")}
        finding = self.becomes(server, "cron_fails", about="shut", env=doctor)
        self.assertEqual(finding["evidence"]["tenant"], "boss")
        report, _ = self.report(server, env=doctor)
        self.assertEqual(report["not_asked"], [])
        self.assertIn("semaphore_over", [f["finding"] for f in report["findings"]])

    def test_people_read_it(self):
        server = self.start()
        client = self.connect(server)
        client.call("queue.pause", "echo")
        client.call("task.submit", "echo", [])
        status, out, err = run_ergon(server.urls[0], "doctor", "--remote", "--for", "1ms")
        self.assertEqual((status, err), (REMOTE, ""))
        self.assertRegex(out, rb"warning queue_paused: the queue of echo is paused, and 1 tasks wait in it\n"
                              rb"    waiting 1, more 0, oldest_seconds \d+\.\d\d\n    -> ergon queue resume echo\n")


class Reach(DoctorTest):
    """There is no connection: that is the one finding."""

    def unreached(self, name, wanted, url, *flags, why="", env=None):
        status, out, err = run_ergon(url, "doctor", "--json", *flags, env=env)
        report = json.loads(out)
        self.assertEqual(([f["finding"] for f in report["findings"]], status, err), ([name], wanted, ""))
        finding = report["findings"][0]
        SEEN.add(name)
        self.assertEqual((finding["severity"], finding["about"]), ("error", url))
        self.assertIn(why, finding["text"])
        return finding

    def test_server_down(self):
        place = scratch(self.addCleanup)
        self.unreached("server_down", CONNECT, f"unix://{place}/none", why="nobody listens at unix://")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(f"{place}/dead")
        self.unreached("server_down", CONNECT, f"unix://{place}/dead", why="refused")
        status, out, err = run_ergon(f"unix://{place}/none", "doctor")
        self.assertEqual((status, err), (CONNECT, ""))
        self.assertIn(b"error server_down: nobody listens at", out)
        self.assertIn(b"-> on its machine, systemctl status ergond", out)

    def test_server_unreachable(self):
        """Somebody takes the connection, and is no TLS server that says anything."""
        with socket.create_server(("127.0.0.1", 0)) as mute:
            self.unreached("server_unreachable", CONNECT, f"ergons://127.0.0.1:{mute.getsockname()[1]}", "--timeout", "200ms")

    def test_tls_fails(self):
        place = scratch(self.addCleanup)
        cert, key = self_signed(place)
        server = self.start("--tls-cert", cert, "--tls-key", key, listen=("ergons://127.0.0.1:0",))
        url = server.urls[0].replace("127.0.0.1", "localhost")
        self.unreached("tls_fails", CONNECT, url, why="not trusted")
        later = with_faults(AHEAD_S=3 * 86400)  # it is for two days
        self.unreached("tls_fails", CONNECT, url, "--cacert", cert, why="expired", env=later)
        plain = self.start()
        self.unreached("tls_fails", CONNECT, plain.urls[0].replace("ergon://", "ergons://"))

    def test_not_let_in(self):
        server = self.start("--tokens", write_tokens(scratch(self.addCleanup), {"alice": "*"}))
        self.unreached("not_let_in", AUTH, server.urls[0], why="token", env={"ERGON_TOKEN": token_of("mallory")})

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_socket_closed(self):
        path = f"/tmp/ergon-doctor-{os.getpid()}.sock"
        self.start(listen=("unix://" + path,))
        os.chmod(path, 0o600)
        as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        done = subprocess.run([*as_nobody, ERGON, "-s", "unix://" + path, "doctor", "--json"], capture_output=True, timeout=LIMIT,
                              env={**os.environ, **NO_CONTEXTS})
        self.assertEqual(([f["finding"] for f in json.loads(done.stdout)["findings"]], done.returncode), (["socket_closed"], CONNECT))
        SEEN.add("socket_closed")


class Choice(DoctorTest):
    def setUp(self):
        self.server = self.start()
        client = self.connect(self.server)
        client.call("queue.pause", "echo")
        client.call("task.submit", "echo", [])
        client.call("queue.drain", "sum")  # a note

    def doctor(self, *flags, url=None):
        return run_ergon(url or self.server.urls[0], "doctor", "--remote", "--for", "1ms", *flags)

    def names(self, *flags):
        status, out, err = self.doctor("--json", *flags)
        self.assertEqual(err, "")
        report = json.loads(out)
        return [f["finding"] for f in report["findings"]], report["worst"], status

    def test_names(self):
        self.assertEqual(self.names(), (["queue_paused", "queue_draining", "store_missing"], "warning", REMOTE))
        self.assertEqual(self.names("--ignore", "queue_paused"), (["queue_draining", "store_missing"], "note", OK))
        self.assertEqual(self.names("--ignore", "queue_paused,store_missing", "--ignore", "queue_draining"), ([], None, OK))
        self.assertEqual(self.names("--only", "store_missing,queue_paused"), (["queue_paused", "store_missing"], "warning", REMOTE))
        self.assertEqual(self.names("--only", "loop_hangs"), ([], None, OK))
        self.assertIn(b"(1 checks)", self.doctor("--only", "loop_hangs")[1])
        status, out, err = self.doctor("--ignore", "queue_pawsed")
        self.assertEqual((status, out), (USAGE, b""))
        self.assertIn("there is no finding 'queue_pawsed'; did you mean 'queue_paused'?", err)

    def test_what_fails(self):
        for word, status in (("error", OK), ("warning", REMOTE), ("note", REMOTE), ("never", OK)):
            self.assertEqual(self.doctor("--fail-on", word)[0], status, word)
        self.assertEqual(self.doctor("--fail-on", "note", "--only", "store_missing")[0], REMOTE)
        status, _, err = self.doctor("--fail-on", "fatal")
        self.assertEqual(status, USAGE)
        self.assertIn("--fail-on takes error, warning, note or never, not 'fatal'", err)

    def test_for_monitoring(self):
        status, out, err = self.doctor("--nagios")
        self.assertEqual((status, err), (1, ""))
        lines = out.decode().splitlines()
        self.assertEqual(lines[0], "ERGON WARNING: queue_paused: the queue of echo is paused, and 1 tasks wait in it"
                                   " | errors=0 warnings=1 notes=2")
        self.assertEqual([line.split(":")[0] for line in lines[1:]], ["note queue_draining", "note store_missing"])
        self.assertEqual(self.doctor("--nagios", "--fail-on", "error")[0], 0)
        self.assertEqual(self.doctor("--nagios", "--only", "loop_hangs"), (0, b"ERGON OK: all well | errors=0 warnings=0 notes=0\n", ""))
        status, out, _ = self.doctor("--nagios", url=f"unix://{scratch(self.addCleanup)}/none")
        self.assertEqual((status, out[:40]), (2, b"ERGON CRITICAL: server_down: nobody list"))
        closed = self.start("--tokens", write_tokens(scratch(self.addCleanup), {"none": "echo"}))
        status, out, _ = run_ergon(closed.urls[0], "doctor", "--remote", "--nagios", env={"ERGON_TOKEN": token_of("none")})
        self.assertEqual((status, out[:21]), (3, b"ERGON UNKNOWN: the se"))

    def test_all_of_them(self):
        status, out, err = run_ergon("none", "doctor", "--list")
        self.assertEqual((status, err), (OK, ""))
        self.assertIn("server_silent", out.decode())


class Queues(DoctorTest):
    def setUp(self):
        self.server = self.start()
        self.client = self.connect(self.server)

    def test_queue_paused_and_draining(self):
        self.client.call("queue.pause", "echo")
        self.assertEqual(self.findings(self.server), {})  # nothing waits in it
        self.client.call("task.submit", "echo", [])
        self.becomes(self.server, "queue_paused", about="echo")
        self.client.call("queue.drain", "sum")
        self.becomes(self.server, "queue_draining", about="sum")

    def test_queue_without_worker(self):
        with Worker(self.server, "far.away"):
            pass
        eventually(lambda: self.client.call("server.info")["workers"]["registered"] == 0, "the worker has gone")
        self.client.call("task.submit", "far.away", [])
        self.becomes(self.server, "queue_without_worker", about="far.away")

    def test_queue_growing(self):
        self.client.call("task.submit_many", [["block", ["1h"], {}]] * 200, {"limit": {"key": "one", "max": 1}})
        finding = self.while_doing(self.server, "queue_growing",
                                   lambda client: client.call("task.submit", "block", ["1h"], {"limit": {"key": "one", "max": 1}}))
        self.assertEqual(finding["about"], "block")

    def test_tasks_dead(self):
        task = self.client.call("task.submit", "fail", ["NO", "never"], {"retries": 1, "backoff": 1})["id"]
        self.client.call("task.wait", [task])
        self.assertEqual(self.becomes(self.server, "tasks_dead")["evidence"]["dead"], 1)

    def test_store_missing_is_a_note(self):
        self.client.call("task.wait", [self.client.call("task.submit", "echo", [])["id"]])
        report, status = self.report(self.server)
        self.assertEqual(([(f["finding"], f["severity"]) for f in report["findings"]], status),
                         ([("store_missing", "note")], OK))


class Machine(DoctorTest):
    def found_here(self, **faults):
        """By a doctor on the server's machine, which is ill for the doctor."""
        env = with_faults(**{"CLOCK": "right", "KERNEL": "6.1.0", **faults})
        _, out, err = run_ergon(self.start().urls[0], "doctor", "--json", "--for", "1ms", env=env)
        self.assertEqual(err, "")
        findings = {f["finding"]: f for f in json.loads(out)["findings"]}
        SEEN.update(findings)
        return findings

    def test_kernel_old(self):
        found = self.found_here(KERNEL="4.17.19-generic")
        self.assertEqual(list(found), ["kernel_old"])
        self.assertEqual(found["kernel_old"]["evidence"], {"kernel": "4.17.19-generic"})

    def test_clock_unsynchronised(self):
        self.assertEqual(list(self.found_here(CLOCK="wild")), ["clock_unsynchronised"])

    def test_clock_skew_both_ways(self):
        for ahead, text in ((3600, "ahead of"), (-3600, "behind")):
            server = self.start(env=with_faults(AHEAD_S=ahead))
            finding = self.becomes(server, "clock_skew")
            self.assertIn(text, finding["text"])
            self.assertAlmostEqual(finding["evidence"]["ahead_ms"] / 1000, ahead, delta=LIMIT)


class Calendars(DoctorTest):
    def test_cron_skips_and_fails(self):
        server = self.start()
        client = self.connect(server)
        client.call("cron.put", "long", "every 1s", "sleep", ["1h"])
        self.becomes(server, "cron_skips", about="long")
        client.call("cron.put", "shut", "every 1s", "hash", ["sha256", "x"])
        client.call("queue.drain", "hash")
        finding = self.becomes(server, "cron_fails", about="shut")
        self.assertIn("drained", finding["evidence"]["error"])


class Shared(DoctorTest):
    def test_semaphore_over_and_holder_gone(self):
        server = self.start()
        client = self.connect(server)
        client.call("sem.create", "gpu", 2)
        client.call("sem.acquire", "gpu", {"permits": 2})
        client.call("sem.create", "gpu", 1)
        self.assertEqual(self.becomes(server, "semaphore_over", about="gpu")["evidence"],
                         {"taken": 2, "permits": 1, "tenant": "anybody"})
        with server.connect() as other:
            client.call("sem.create", "tpu", 1)
            other.call("sem.acquire", "tpu", {"grace": "1h"})
        self.becomes(server, "semaphore_holder_gone", about="tpu")


class Workers(DoctorTest):
    def setUp(self):
        self.server = self.start()
        self.client = self.connect(self.server)

    def test_workers_leave(self):
        for _ in range(20):
            with Worker(self.server, "brief"):
                pass
        self.becomes(self.server, "workers_leave")

    def test_workers_strange(self):
        with Worker(self.server, "odd") as worker:
            worker.answer(4711 * 8192)
            self.becomes(self.server, "workers_strange")

    def test_worker_late(self):
        with Worker(self.server, "slow", context=False) as worker:
            self.past_its_deadline(self.client, "slow", [], lambda: worker.call("server.ping") and worker.asked)
            self.becomes(self.server, "worker_late", about=worker.id)


class Running(DoctorTest):
    @classmethod
    def setUpClass(cls):
        cls.place = scratch(cls.addClassCleanup)
        cls.module = build_handlers(cls.place, "hang", HANG)

    def pipe(self):
        path = os.path.join(self.place, self.id())
        os.mkfifo(path)
        return path

    def test_loop_hangs(self):
        server = self.start("--module", self.module, "--loops", "2", "--manager-place", "own")
        first = self.connect(server)
        path = self.pipe()
        call = first.send("hang", path)
        eventually(lambda: "loop is away" in server.log_text(), "the log says that a loop is away")
        self.assertIn("hangs in a step of hang:", self.becomes(server, "loop_hangs")["text"])
        open(path, "w").close()
        first.result(call)

    def test_manager_silent(self):
        # The manager lives on loop 0, and that hangs; who comes now is served by loop 1.
        server = self.start("--module", self.module, "--loops", "2")
        clients = [self.connect(server) for _ in range(2)]
        path, calls = self.pipe(), []
        calls = [client.send("hang", path) for client in clients[:1]]
        eventually(lambda: "loop is away" in server.log_text(), "the log says that a loop is away")
        found = self.findings(server, "--timeout", "2s")
        if 'activator="loop 0"' in server.log_text():
            self.assertIn("manager_silent", found)
        self.assertIn("loop_hangs", found)
        open(path, "w").close()
        for client, call in zip(clients, calls):
            client.result(call)

    def test_server_silent(self):
        server = self.start("--loops", "1")
        server.signal(signal.SIGSTOP)  # SIGSTOP: its system takes connections, and it says nothing
        try:
            report, status = self.report(server, "--timeout", "1s")
        finally:
            server.signal(signal.SIGCONT)
        self.assertEqual(([f["finding"] for f in report["findings"]], status), (["server_silent"], REMOTE))

    def test_handler_outlived(self):
        server = self.start("--module", self.module)
        client = self.connect(server)
        path = self.pipe()
        self.past_its_deadline(client, "hold", [path],
                               lambda: "hold" in [e["running"] for e in client.call("server.topology")["executors"]])
        self.assertEqual(self.becomes(server, "handler_outlived")["evidence"]["running"], "hold")
        open(path, "w").close()
        eventually(lambda: "handler_outlived" not in self.findings(server), "it has returned, and doctor knows")

    def test_long_steps(self):
        server = self.start("--module", self.module, "--loops", "1", "--step-limit", "1ms")
        client, path = self.connect(server), self.pipe()

        def holds_up():
            for _ in range(10):
                call = client.send("hang", path)
                time.sleep(0.005)  # long for a step, as a rule: else there are more rounds of this
                open(path, "w").close()
                client.result(call)
            return "long_steps" in self.findings(server)

        eventually(holds_up, "doctor finds long_steps")

    @unittest.skipIf(SANITIZED, "a sanitizer tells of a crash itself, and no file is left")
    def test_crashed(self):
        store = os.path.join(scratch(self.addCleanup), "tasks.db")
        with Server("--store", store).until_killed() as server:
            server.signal(signal.SIGSEGV)
            self.assertEqual(server.wait(), -signal.SIGSEGV)
        after = self.start("--store", store)
        self.assertLess(self.becomes(after, "crashed")["evidence"]["hours"], 1)
        text = run_ergon(after.urls[0], "doctor", "--remote", "--only", "crashed", "--for", "1ms")[1].decode()
        self.assertRegex(text, r"the server crashed (now|\d+ s ago)\n")
        self.assertRegex(text, r"(?m)^    at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^ ,]*$")
        for name in os.listdir(os.path.dirname(store)):
            if name.endswith("-crash.rec"):
                os.remove(os.path.join(os.path.dirname(store), name))
        after.stop()
        self.assertNotIn("crashed", self.findings(self.start("--store", store)))

    def test_reload_refused(self):
        path = os.path.join(scratch(self.addCleanup), "ergond.yaml")

        def write(text):
            with open(path, "w") as f:
                f.write(text)

        write("drain: 1s\n")
        server = self.start("--config", path)
        self.assertEqual(self.findings(server), {})
        write("drain: soon\n")
        server.signal(signal.SIGHUP)
        self.becomes(server, "reload_refused")
        write("drain: 2s\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: self.findings(server) == {}, "the reload was taken over, and doctor knows")

    def test_methods_without_executor(self):
        place = scratch(self.addCleanup)
        path = os.path.join(place, "ergond.yaml")
        with open(path, "w") as f:
            f.write("executors:\n  list:\n    - kind: stepped\n")
        self.becomes(self.start("--config", path), "methods_without_executor")


class Room(DoctorTest):
    def test_calls_refused_and_a_full_common_queue(self):
        server = self.start("--manager-queue", "16", "--blocking", "1", "--blocking-max", "1", "--blocking-queue", "1")
        client = self.connect(server)
        calls = [client.send("block", "1h") for _ in range(40)]
        self.becomes(server, "calls_refused")
        self.becomes(server, "common_queue_full")
        for call in calls:
            client.notify("server.cancel", call)

    def test_tasks_count_near(self):
        server = self.start("--tasks-max", "10", "--tasks-tenant-share", "100")
        client = self.connect(server)
        for _ in range(8):
            client.call("task.submit", "echo", [], {"delay": "1h"})
        self.becomes(server, "tasks_count_near")

    def test_tasks_bytes_near(self):
        server = self.start("--tasks-bytes", "1m", "--tasks-tenant-share", "100")
        client = self.connect(server)
        # Small ones: what the first that is refused leaves free is less than one.
        while client.response(client.send("task.submit", "echo", ["x" * 10000], {"delay": "1h"}))[0] is None:
            pass
        self.becomes(server, "tasks_bytes_near")

    def test_memory_near(self):
        """Calls that go on hold their parameters.  A principal has at most as much as it leaves free: it takes some."""
        names = [f"holder{n}" for n in range(8)]
        tokens = write_tokens(scratch(self.addCleanup), {name: "*" for name in ["alice", *names]})
        server = self.start("--tokens", tokens, "--limits-memory", "16m", "--limits-principal-memory", "16m", "--limits-connection-memory",
                            "16m", "--loops", "1")
        for name in names:  # 14 MB in all
            client = self.connect(server)
            client.call("server.auth", token_of(name))
            for _ in range(18):
                client.send("sleep", "1h", "x" * 100_000)
        self.becomes(server, "memory_near", env={"ERGON_TOKEN": token_of("alice")})

    def test_memory_short(self):
        """The second call of a connection has no room beside the first, and waits."""
        server = self.start("--limits-connection-memory", "1m")

        def two(client):
            for call in [client.send("sleep", "200ms", "x" * 600_000) for _ in range(2)]:
                client.result(call)

        self.while_doing(server, "memory_short", two)

    def test_results_kept_near(self):
        server = self.start("--tasks-bytes", "1m", "--tasks-kept-bytes", "256k")
        client = self.connect(server)

        def full():
            client.call("task.wait", [client.call("task.submit", "echo", ["x" * 2000])["id"] for _ in range(20)])
            kept = client.call("server.info")["kept"]
            return kept["ended_bytes"] >= 0.95 * kept["ended_bytes_limit"]

        eventually(full, "tasks that have ended take what they may")
        report, status = self.report(server)
        self.assertEqual((sorted(f["finding"] for f in report["findings"]), status), (["results_kept_near", "store_missing"], OK))

    def test_connections_gave_way(self):
        """All places are taken from one address; each that comes from another has one of them closed."""
        path = os.path.join(scratch(self.addCleanup), "ergon.sock")
        server = self.start("--limits-connections", "16", "--loops", "1", listen=("ergon://127.0.0.1:0", "unix://" + path))

        def come(source):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT, source_address=(source, 0))
            self.addCleanup(sock.close)
            return Client(sock)

        def stays(source):
            try:
                return come(source).call("server.ping") == "pong"
            except ConnectionError:
                return False

        for _ in range(16):
            self.assertTrue(stays("127.0.0.2"))
        over = threading.Event()

        def go_on():
            while not over.wait(0.02):
                with come("127.0.0.3") as other:
                    other.call("server.ping")
                while not over.is_set() and not stays("127.0.0.2"):
                    pass  # its place is not free yet

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            self.becomes(server, "connections_gave_way", "--for", "500ms", url="unix://" + path)
        finally:
            over.set()
            thread.join()

    def test_connections_near(self):
        server = self.start("--limits-connections", "20")
        for _ in range(17):
            self.connect(server)
        self.becomes(server, "connections_near")

    def test_newcomers_near(self):
        tokens = write_tokens(scratch(self.addCleanup), {"alice": "*,task.any"})
        server = self.start("--tokens", tokens, "--loops", "1", "--limits-newcomers", "10", "--limits-auth-timeout", "1h")
        for _ in range(9):
            client = server.connect()
            self.addCleanup(client.close)
            client.call("server.ping")
        self.becomes(server, "newcomers_near", env={"ERGON_TOKEN": token_of("alice")})

    def test_partial_near(self):
        """Many that are small: where the last one finds no room, and the largest is closed for it, the room that this makes is little."""
        server = self.start("--loops", "1", "--limits-message", "1m", "--limits-partial", "4m")
        watch = self.connect(server)

        def near():
            client = self.connect(server)
            client.send_bytes(b"\x94\x00\x01\xa4echo\x91\xc6" + (1 << 19).to_bytes(4, "big") + bytes(1 << 14))
            partial = watch.call("server.info")["connections"]
            return partial["partial_bytes"] >= 0.9 * partial["partial_limit"]

        eventually(near, "messages that are not whole take nearly what they may")
        self.becomes(server, "partial_near")

    def test_tenant_near_share(self):
        server = self.start("--tasks-max", "1000", "--tasks-tenant-share", "10")
        client = self.connect(server)
        while client.response(client.send("task.submit", "echo", [], {"delay": "1h"}))[0] is None:
            pass
        self.becomes(server, "tenant_near_share", about="anybody")

    def test_memory_promised_twice(self):
        with open("/proc/meminfo") as f:
            kib = int(next(line.split()[1] for line in f if line.startswith("MemTotal")))
        self.becomes(self.start("--limits-memory", f"{kib}k", "--tasks-bytes", f"{kib}k"), "memory_promised_twice")

    def test_descriptors_short(self):
        server = self.start("--limits-connections", "1000", wrapper=("prlimit", "--nofile=500:500"))
        self.becomes(server, "descriptors_short")


class Access(DoctorTest):
    def test_certificate_ends(self):
        place = scratch(self.addCleanup)
        cert, key = self_signed(place)  # for two days
        server = self.start("--tls-cert", cert, "--tls-key", key, listen=("ergons://127.0.0.1:0",))
        url = server.urls[0].replace("127.0.0.1", "localhost")
        self.becomes(server, "certificate_ends", "--cacert", cert, "--for", "1ms", url=url, about="ergons://127.0.0.1:0")

    def test_certificate_ends_of_the_listener_that_has_it_until_a_reload(self):
        place = scratch(self.addCleanup)
        path, pairs = os.path.join(place, "ergond.yaml"), {}
        for name, days in (("lasting", "400"), ("brief", "2")):
            pairs[name] = [os.path.join(place, name + end) for end in (".crt", ".key")]
            subprocess.run([os.path.join(SOURCE, "scripts", "certificate.sh"), name, *pairs[name], days], check=True)
        with open(path, "w", encoding="utf-8") as config:
            config.write("listen:\n  - ergon://127.0.0.1:0\n")
            for host, name in (("127.0.0.1", "lasting"), ("localhost", "brief")):
                config.write(f"  - {{url: 'ergons://{host}:0', tls: {{cert: {pairs[name][0]}, key: {pairs[name][1]}}}}}\n")
        server = self.start("--config", path, listen=(), demo=False)
        server.urls.append(server.process.stdout.readline().strip())

        def about():
            return [f["about"] for f in self.report(server)[0]["findings"] if f["finding"] == "certificate_ends"]

        self.assertEqual(about(), ["ergons://localhost:0"])
        for new, old in zip(pairs["lasting"], pairs["brief"]):
            shutil.copyfile(new, old)
        server.signal(signal.SIGHUP)
        eventually(lambda: not about(), "doctor finds no certificate that ends soon")

    def test_crl_ends(self):
        lists = crl_test.Lists()
        self.addCleanup(lists.doCleanups)
        lists.setUp()
        lists.make_list("-crlhours", "1")
        server = self.start("--config", lists.config(), listen=(), demo=False)
        server.urls.append(server.process.stdout.readline().strip())
        cert, key = lists.clients["alice"]
        self.becomes(server, "crl_ends", "--cacert", lists.cert, "--cert", cert, "--key", key, "--for", "1ms",
                     url=server.urls[0].replace("127.0.0.1", "localhost"))

    def test_token_ends_also_by_a_reload(self):
        place = scratch(self.addCleanup)
        path = os.path.join(place, "tokens")
        token = make_token(path, "alice")
        server = self.start("--tokens", path)
        self.assertEqual(self.findings(server, env={"ERGON_TOKEN": token}), {})
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
        make_token(path, "brief", "--expires", soon)
        server.signal(signal.SIGHUP)
        self.becomes(server, "token_ends", env={"ERGON_TOKEN": token})

    def test_listener_open(self):
        server = self.start("--insecure", listen=("ergon://0.0.0.0:0",))
        self.becomes(server, "listener_open", url=f"ergon://127.0.0.1:{server.port}")

    def test_files_exposed(self):
        place = scratch(self.addCleanup)
        path = write_tokens(place, {"alice": "*"})
        os.chmod(path, 0o644)
        self.becomes(self.start("--tokens", path), "files_exposed", env={"ERGON_TOKEN": token_of("alice")})


@ending.needs(postgres.missing())
class Cluster(DoctorTest):
    def setUp(self):
        self.engine = postgres.Cluster()
        self.addCleanup(self.engine.end)
        self.engine.create_role("ergon")
        self.engine.create_database("ergon", owner="ergon")
        path = os.path.dirname(ERGOND) + ":" + os.environ["PATH"]
        self.assertEqual(run_ergon("none", "cluster", "init", self.engine.url("ergon", "ergon"), env={"PATH": path})[0], OK)
        folder = scratch(self.addCleanup)
        os.chmod(folder, 0o700)
        self.node = self.start("--store", self.engine.url("ergon", "ergon"), "--cluster-node", "a", "--cluster-state", folder,
                               "--store-require", "any", env=with_faults(AHEAD_S=3))

    def change(self, sql):
        self.engine.primary.query(sql, dbname="ergon")

    def test_nodes(self):
        self.becomes(self.node, "cluster_no_successor")
        self.change("INSERT INTO ergon.nodes (node, incarnation, renewals, state, note, version, weight) "
                    "VALUES ('old', 1, 1, 'dead', 'no room', '0.0.9', 0), ('new', 1, 1, 'front', '', '9.9.9', 0)")
        self.becomes(self.node, "cluster_node_dead", about="old")
        self.becomes(self.node, "cluster_note", about="old")
        self.change("UPDATE ergon.nodes SET weight = 1, note = 'settings 0' WHERE node = 'new'")
        self.becomes(self.node, "cluster_settings", about="new")
        self.becomes(self.node, "cluster_versions")

    def test_database(self):
        self.becomes(self.node, "cluster_no_standby")
        finding = self.becomes(self.node, "cluster_clock")
        self.assertIn("differ by 3.", finding["text"])
        self.change("UPDATE ergon.owner SET tries = 2")
        self.becomes(self.node, "cluster_no_owner")
        self.engine.primary.stop("immediate")
        self.becomes(self.node, "cluster_database")


class Lasting(DoctorTest):
    def test_store_fails(self):
        place = scratch(self.addCleanup)
        path = os.path.join(place, "tasks.db")
        server = self.start("--store", path)
        client = self.connect(server)
        client.call("task.submit", "echo", [], {"delay": "1h"})
        os.rename(path, path + ".gone")
        client.response(client.send("task.submit", "echo", [], {"delay": "1h"}))
        self.assertIn("submissions are refused", self.becomes(server, "store_fails")["text"])
        os.rename(path + ".gone", path)
        submit = lambda: client.response(client.send("task.submit", "echo", [], {"delay": "1h"}))[0]  # its error, or None
        eventually(lambda: submit() is None, "the store writes again")
        self.assertIn("submissions are accepted", self.findings(server)["store_fails"]["text"])
        eventually(lambda: "store_fails" not in self.findings(server), "the store works again, and doctor knows")

    def durable(self, place, **faults):
        """A server with a store on an ill disk, and a connection to it."""
        server = self.start("--store", os.path.join(place, "tasks.db"), env=with_faults(**faults))
        return server, self.connect(server)

    def test_store_slow(self):
        server, client = self.durable(scratch(self.addCleanup), SYNC_MS=600)
        over = threading.Event()

        def go_on():
            with server.connect() as other:
                while not over.is_set():
                    other.call("task.submit", "echo", [], {"delay": "1h"})

        client.call("task.submit", "echo", [], {"delay": "1h"})
        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            finding = self.becomes(server, "store_slow", "--for", "1500ms")
        finally:
            over.set()
            thread.join()
        self.assertGreaterEqual(finding["evidence"]["commit_us"], 500000)
        self.assertNotIn("store_slow", self.findings(server))  # nothing is committed: it is not known

    def test_store_hangs(self):
        place = scratch(self.addCleanup)
        gate = os.path.join(place, "gate")
        server, client = self.durable(place, SYNC_HELD=gate)
        open(gate, "w").close()
        held = client.send("task.submit", "echo", [], {"delay": "1h"})
        self.becomes(server, "store_hangs", "--for", "600ms")
        os.remove(gate)
        client.result(held)
        self.assertNotIn("store_hangs", self.findings(server, "--for", "600ms"))

    def test_store_space(self):
        """Also where something else fills the disk, and the server has nothing to do with it."""
        place = scratch(self.addCleanup)
        left = os.path.join(place, "left")
        server, client = self.durable(place, FREE=left)
        self.assertNotIn("store_space", self.findings(server))
        with open(left, "w") as f:
            f.write(str(100 << 20))
        finding = self.becomes(server, "store_space")
        self.assertEqual(finding["evidence"]["free_bytes"], 100 << 20)
        self.assertIn("100 MiB left", finding["text"])
        with open(left, "w") as f:
            f.write("0")
        eventually(lambda: self.becomes(server, "store_space")["evidence"]["free_bytes"] == 0, "a disk that is quite full is one, too")

    def test_backups(self):
        place = scratch(self.addCleanup)
        path = os.path.join(place, "tasks.db")
        server = self.start("--store", path)
        client = self.connect(server)
        self.assertEqual(self.findings(server), {})  # nothing to lose
        client.call("task.submit", "echo", [], {"delay": "1h"})
        report, status = self.report(server)
        self.assertEqual(([f["finding"] for f in report["findings"]], status), (["backup_missing"], OK))
        self.backup(place)
        eventually(lambda: self.findings(server) == {}, "the server knows of the backup")
        long_ago = time.time() - 9 * 86400
        os.utime(path + "-backup", (long_ago, long_ago))
        finding = self.becomes(server, "backup_old")
        self.assertAlmostEqual(finding["evidence"]["days"], 9, delta=0.1)
        self.assertEqual(self.findings(server, "--for", "1ms", "--backup-age", "10d"), {})

    def test_audit_dropped(self):
        """The audit log's file may not grow any more; refusals of acts are told there, as much as there is room."""
        place = scratch(self.addCleanup)
        tokens = write_tokens(place, {"alice": "*", "bob": "echo"})
        server = self.start("--tokens", tokens, "--audit-file", os.path.join(place, "audit"), "--audit-buffer", "64k",
                            wrapper=("env", "--ignore-signal=XFSZ", "prlimit", "--fsize=4096"))
        client = self.connect(server)
        client.call("server.auth", token_of("bob"))
        alice = {"ERGON_TOKEN": token_of("alice")}

        def dropped():
            for n in range(100):
                with server.connect() as other:
                    other.call("server.auth", token_of("bob"))
                    for _ in range(20):
                        other.response(other.send("queue.pause", "echo"))
            return "audit_dropped" in self.findings(server, env=alice)

        eventually(dropped, "records are dropped, since they cannot be written")
        self.becomes(server, "audit_dropped", env=alice)

    def collector(self, answers):
        """One that answers requests by these statuses, one after the other, and the last for ever; its URL."""
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(answers.pop(0) if len(answers) > 1 else answers[0])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_collector_fails_and_spans_dropped(self):
        server = self.start("--trace-sample", "1", "--trace-endpoint", self.collector([400, 503]))
        client = self.connect(server)
        client.call("echo", 1)
        self.becomes(server, "spans_dropped")
        client.call("echo", 1)
        finding = self.becomes(server, "collector_fails")
        self.assertGreaterEqual(finding["evidence"]["dropped"], 1)

    def test_a_collector_that_is_well_is_no_finding(self):
        server = self.start("--trace-sample", "1", "--trace-endpoint", self.collector([503, 200]))
        client = self.connect(server)
        client.call("echo", 1)
        eventually(lambda: client.call("server.info")["spans"]["exported"] == 1, "the span is exported")
        self.assertEqual(self.findings(server), {})

    def test_log_dropped(self):
        reader, writer = os.pipe()
        tokens = write_tokens(scratch(self.addCleanup), {"alice": "*"})
        server = self.start("--log-buffer", "64k", "--log-repeats", "off", "--tokens", tokens, "--limits-auth-failures",
                            "1000", "--limits-penalty", "off", log=writer)
        os.close(writer)
        self.addCleanup(os.close, reader)
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of("alice"))

        def dropped():
            with server.connect() as other:
                for msgid in [other.send("server.auth", "wrong") for _ in range(900)]:
                    other.response(msgid)
            return client.call("server.info")["log"]["dropped"] > 0

        eventually(dropped, "records are dropped, since nobody reads them")
        self.becomes(server, "log_dropped", env={"ERGON_TOKEN": token_of("alice")})


class Actors(DoctorTest):
    def test_troubles_of_actors(self):
        clock = os.path.join(scratch(self.addCleanup), "clock")
        server = self.start(env=with_faults(AHEAD_IN=clock))
        client = self.connect(server)
        types = {"ward": {"on_failure": "stop", "messages": 10}}
        with Worker(server, "ward.add", slots=4, context=True, actors=types) as worker, \
                Worker(server, "gone.add", slots=4, context=True, actors={"gone": {}}) as other:
            call = client.send("actor.call", "ward/1", "add")
            worker.answer(worker.take()[0], [None, {"state": 1}])
            client.result(call)
            self.assertEqual(set(self.findings(server)), {"store_missing"})
            call = client.send("actor.call", "ward/2", "add")
            worker.respond(worker.take()[0], "BROKEN: no", None)
            client.response(call)
            self.assertIn("stopped by a failure: 1", self.becomes(server, "actors_failed", about="ward")["text"])
            for _ in range(9):
                client.call("actor.tell", "ward/1", "add", [], {"durable": "none"})
            number, _, (context,) = worker.take()
            self.assertEqual(self.becomes(server, "actor_mailbox_near", about="ward/1")["evidence"], {"waiting": 8, "limit": 10})
            with self.assertRaises(RemoteError):
                worker.call("actor.call", "ward/1", "add", [], {"turn": context["call"]})
            self.assertIn("DEADLOCK", self.becomes(server, "actors_deadlock")["text"])
            self.assertNotIn("actor_holds", self.findings(server))
            with open(clock, "wb") as f:
                f.write(struct.pack("q", 61000))
            self.assertIn("ward.add of the actor ward/1 runs for 6", self.becomes(server, "actor_holds", about="ward/1")["text"])
            other.close()
            hosts = lambda: {t["type"]: t["hosts"] for t in client.call("actor.types")}  # noqa: E731
            eventually(lambda: not hosts()["gone"], "its host is gone")
            self.assertNotIn("actors_without_host", self.findings(server))
            client.call("actor.tell", "gone/1", "add", [], {"durable": "none"})
            self.becomes(server, "actors_without_host", about="gone")

    def test_turns_that_are_not_folded(self):
        path = os.path.join(scratch(self.addCleanup), "tasks.db")
        self.start("--store", path).stop()
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 264000) "
                       "INSERT INTO turns (type, key, version, state) SELECT 'old', printf('%06d', i), 1, x'01' FROM n")
        server = self.start("--store", path)
        self.assertGreaterEqual(self.becomes(server, "actors_unfolded")["evidence"]["unfolded"], 262144)


if __name__ == "__main__":
    unittest.main()
