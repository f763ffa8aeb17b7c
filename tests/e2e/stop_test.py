"""Stopping: SIGTERM under load, a second signal, and a handler that does not return."""
import os
import signal
import socket
import tempfile
import threading
import time
import unittest

from harness import LIMIT, Server, eventually

DRAIN = 30.0  # seconds, of which what is in flight below takes next to nothing


class Load(threading.Thread):
    """Keeps requests in flight until the server says FIN, then counts what came back."""

    METHODS = (("echo", ["x"]), ("sleep", ["5ms"]), ("block", ["2ms"]), ("burn", ["1ms"]), ("hash", ["md5", b"x"]))

    def __init__(self, server):
        super().__init__()
        self.client = server.connect()
        self.sent = 0
        self.answered = set()
        self.twice = 0
        self.problem = None

    def run(self):
        try:
            self.client.sock.settimeout(LIMIT)
            for _ in range(32):
                self.send_one()
            while (message := self.client.receive()) is not None:
                kind, msgid, _, _ = message
                self.twice += msgid in self.answered
                self.answered.add(msgid)
                self.send_one()
        except (BrokenPipeError, ConnectionResetError) as e:
            self.problem = e

    def send_one(self):
        try:
            self.client.send(*(lambda m: (m[0], *m[1]))(self.METHODS[self.sent % len(self.METHODS)]))
            self.sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has closed: what it had not read has no answer


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
    except ConnectionResetError:
        pass  # it stood in the backlog when the listener went
    except ConnectionRefusedError:
        return True
    return False


class Stop(unittest.TestCase):
    def start(self, *flags):
        server = Server(*flags)
        self.addCleanup(server.discard)
        return server

    def test_every_request_that_was_read_gets_one_response(self):
        server = self.start("--drain", f"{int(DRAIN)}s", "--blocking", "4")
        loads = [Load(server) for _ in range(16)]
        for load in loads:
            load.start()
        eventually(lambda: sum(len(load.answered) for load in loads) >= 2000, "2000 answers")
        with server.connect() as client:
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            status = server.wait()
            took = time.monotonic() - began
        for load in loads:
            load.join(LIMIT)
            load.client.close()
        self.assertEqual(status, 0, server.log_text())
        self.assertLess(took, DRAIN)
        for load in loads:
            self.assertEqual(load.twice, 0)
            # Without a gap: the server read requests in order, and answered each one that it read.
            missing = set(range(1, max(load.answered) + 1)) - load.answered
            self.assertEqual(missing, set(), f"sent {load.sent}, answered {len(load.answered)}")
        print(f"drained in {took:.3f} s; {sum(len(l.answered) for l in loads)} requests, one response each")

    def test_idle_connections_do_not_hold_it_up(self):
        server = self.start("--drain", "60s")
        clients = [server.connect() for _ in range(50)]
        clients[0].call("echo", 1)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 30)
        for client in clients:
            self.assertTrue(client.at_end())
            client.close()

    def test_what_is_still_running_at_the_limit_is_cancelled_and_answered(self):
        """Of the limit a part is left for that, which a busy machine may need for itself: then another server has more."""
        self.assertTrue(any(self.cancels_and_answers(drain) for drain in ("1s", "6s", "30s")))

    def cancels_and_answers(self, drain):
        """Before connections are cut, and threads are waited for no more."""
        server = self.start("--drain", drain)
        with server.connect() as client:
            ids = [client.send(method, "1h") for method in ("sleep", "block", "burn")]
            client.call("echo", 1)
            server.signal(signal.SIGTERM)
            try:
                for msgid in ids:
                    error, _ = client.response(msgid)
                    self.assertIn(error.split(":")[0], ("CANCELLED", "DRAINING"))
            except ConnectionError:
                return False
            self.assertTrue(client.at_end())
        return server.wait() == 0

    def test_a_second_signal_stops_at_once(self):
        server = self.start("--drain", "600s")
        with server.connect() as client:
            client.send("sleep", "600s")
            client.call("echo", 1)
            server.signal(signal.SIGTERM)
            eventually(lambda: "DRAINING" in server.log_text(), "the server drains")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0, server.log_text())

    def test_a_blocking_handler_that_does_not_return_is_named(self):
        server = self.start("--drain", "2s")
        with server.connect() as client:
            client.send("block", "600s", {"ignore_cancel": True})
            client.call("echo", 1)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 3, server.log_text())  # long before it would return
        self.assertIn("block", server.log_text())

    def test_a_kept_task_that_runs_is_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--store", os.path.join(folder, "tasks.db"), "--drain", "60s")
            server = self.start(*flags)
            with server.connect() as client:
                task = client.call("task.submit", "block", ["500ms"])["id"]
                later = client.call("task.submit", "echo", ["later"], {"after": [task]})["id"]
                client.call("task.watch", task, {"from": 2, "timeout": "60s"})
            self.assertEqual(server.stop(), 0, server.log_text())
            server = self.start(*flags)
            with server.connect() as client:
                told = client.call("task.get", task)
                self.assertEqual((told["state"], told["attempt"]), ("done", 1))
                told = client.call("task.wait", later, {"timeout": "60s"})["ended"][0]
                self.assertEqual((told["result"], told["attempt"]), ("later", 1))

    def test_a_kept_task_that_does_not_end_is_interrupted_and_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--store", os.path.join(folder, "tasks.db"), "--drain", "6s")
            server = self.start(*flags)
            with server.connect() as client:
                tasks = [client.call("task.submit", m, ["600s"])["id"] for m in ("sleep", "block", "burn")]
                for task in tasks:
                    client.call("task.watch", task, {"from": 2, "timeout": "60s"})
            self.assertEqual(server.stop(), 0, server.log_text())
            server = self.start(*flags)
            with server.connect() as client:
                for task in tasks:
                    eventually(lambda: client.call("task.get", task)["attempt"] > 1, "a second attempt")
                    told = client.call("task.get", task, {"history": True})
                    self.assertEqual((told["attempt"], told["failures"], told["crashes"]), (2, 0, 0))
                    self.assertIn("interrupted", [e["event"] for e in told["history"]])

    def test_a_long_poll_does_not_hold_it_up(self):
        server = self.start("--drain", "600s")
        with server.connect() as client:
            task = client.call("task.submit", "echo", [1], {"delay": "1h"})["id"]
            wait = client.send("task.wait", task, {"timeout": "1h"})
            watch = client.send("task.watch", task, {"from": 100, "timeout": "1h"})
            client.call("echo", 1)
            server.signal(signal.SIGTERM)
            self.assertEqual(client.response(wait)[1]["open"], [task])
            self.assertEqual(client.response(watch)[1]["ended"], False)
            self.assertTrue(client.at_end())
        self.assertEqual(server.wait(), 0, server.log_text())

    def test_new_connections_are_refused_while_draining(self):
        server = self.start("--drain", "60s")
        with server.connect() as client:
            sleep = client.send("sleep", "60s")
            client.call("echo", 1)
            server.signal(signal.SIGTERM)
            eventually(lambda: is_refused(server.port), "a new connection is refused")
            server.signal(signal.SIGTERM)
            server.wait()


if __name__ == "__main__":
    unittest.main()
