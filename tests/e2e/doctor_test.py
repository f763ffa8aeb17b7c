"""ergon doctor: each state that a real server can be brought into is found, and a healthy server has no findings."""
import json
import os
import signal
import threading
import time
import unittest

import crl_test
from bare_worker import Worker
from harness import (AUTH, CONNECT, ERGON, LIMIT, OK, REMOTE, SOURCE, Server, build_module, eventually, make_token, run_ergon, scratch,
                     self_signed, token_of, write_tokens)
from stuck_test import HANG


class DoctorTest(unittest.TestCase):
    def start(self, *flags, **more):
        server = Server(*flags, **more)
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
        return json.loads(out), status

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
            client.call("cron.put", "daily", "@daily", "echo", [])
            client.call("sem.create", "s", 2)
            client.call("sem.acquire", "s")
            report, status = self.report(server)
            self.assertEqual((report["findings"], report["not_asked"], status), ([], [], OK))
            self.assertGreater(report["checks"], 40)
            status, out, err = run_ergon(server.urls[0], "doctor", "--remote", "--for", "1ms")
            self.assertEqual((status, err), (OK, ""))
            self.assertIn(b"all well at ergon://", out)
            self.assertEqual(run_ergon(server.urls[0], "-q", "doctor", "--remote", "--for", "1ms"), (OK, b"", ""))

    def test_no_server_is_no_finding(self):
        status, out, _ = run_ergon(f"unix://{scratch(self.addCleanup)}/none", "doctor", "--json")
        self.assertEqual((status, out), (CONNECT, b""))

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

    def test_people_read_it(self):
        server = self.start()
        client = self.connect(server)
        client.call("queue.pause", "echo")
        client.call("task.submit", "echo", [])
        status, out, err = run_ergon(server.urls[0], "doctor", "--remote", "--for", "1ms")
        self.assertEqual((status, err), (REMOTE, ""))
        self.assertIn(b"warning queue_paused: the queue of echo is paused, and 1 tasks wait in it\n"
                      b"    waiting 1, more 0\n    -> ergon queue resume echo\n", out)


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


class Calendars(DoctorTest):
    def test_cron_skips_and_fails(self):
        server = self.start()
        client = self.connect(server)
        client.call("cron.put", "long", "every 1s", "sleep", ["1h"])
        self.becomes(server, "cron_skips", about="long")
        client.call("cron.put", "shut", "every 1s", "hash", ["sha256", "x"])
        client.call("queue.drain", "hash")
        self.becomes(server, "cron_fails", about="shut")


class Shared(DoctorTest):
    def test_semaphore_over_and_holder_gone(self):
        server = self.start()
        client = self.connect(server)
        client.call("sem.create", "gpu", 2)
        client.call("sem.acquire", "gpu", {"permits": 2})
        client.call("sem.create", "gpu", 1)
        self.assertEqual(self.becomes(server, "semaphore_over", about="gpu")["evidence"], {"taken": 2, "permits": 1})
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
            call = self.client.send("task.call", "slow", [], {"deadline": 50})
            worker.take()
            self.client.response(call)
            self.becomes(self.server, "worker_late", about=worker.id)


class Running(DoctorTest):
    @classmethod
    def setUpClass(cls):
        cls.place = scratch(cls.addClassCleanup)
        source, cls.module = os.path.join(cls.place, "hang.c"), os.path.join(cls.place, "hang.so")
        with open(source, "w") as f:
            f.write(HANG)
        build_module(source, cls.module, "-fPIC", "-I", os.path.join(SOURCE, "include"))

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
        self.becomes(server, "loop_hangs")
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
        client.response(client.send("task.call", "hold", [path], {"deadline": 100}))
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
        server = self.start("--loops", "1", "--limits-message", "1m", "--limits-partial", "4m")
        limit = self.connect(server).call("server.info")["connections"]["partial_limit"]
        for _ in range(int(limit * 0.9) >> 17):
            client = self.connect(server)
            client.send_bytes(b"\x94\x00\x01\xa4echo\x91\xc6" + (1 << 19).to_bytes(4, "big") + bytes(1 << 17))
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
        self.becomes(server, "certificate_ends", "--cacert", cert, "--for", "1ms", url=url)

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


class Lasting(DoctorTest):
    def test_store_fails(self):
        place = scratch(self.addCleanup)
        path = os.path.join(place, "tasks.db")
        server = self.start("--store", path)
        client = self.connect(server)
        client.call("task.submit", "echo", [], {"delay": "1h"})
        os.rename(path, path + ".gone")
        client.response(client.send("task.submit", "echo", [], {"delay": "1h"}))
        self.becomes(server, "store_fails")
        os.rename(path + ".gone", path)
        eventually(lambda: "store_fails" not in self.findings(server), "the store works again, and doctor knows")

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


if __name__ == "__main__":
    unittest.main()
