"""The server stops while workers are connected: what was read goes on to them, they are let go last, and what they do not
finish in time ends in good order."""
import os
import signal
import unittest

from bare_worker import Worker
from harness import RemoteError, Server, eventually, scratch


class WorkersStop(unittest.TestCase):
    def start(self, *flags, drain="600s"):
        server = Server("--drain", drain, *flags)
        self.addCleanup(server.discard)
        return server

    def kept(self, *flags, **options):
        """With a file that keeps tasks."""
        self.store = os.path.join(scratch(self.addCleanup), "tasks.db")
        return self.start("--store", self.store, *flags, **options)

    def connect(self, server):
        client = server.connect()
        self.addCleanup(client.close)
        return client

    def worker(self, server, *methods, **options):
        worker = Worker(server, *methods, **options)
        self.addCleanup(worker.close)
        return worker

    def term(self, server):
        server.signal(signal.SIGTERM)
        eventually(lambda: "DRAINING" in server.log_text(), "the server drains")

    def code(self, client, method, *params):
        """Of the error that it is refused with; None: it is not."""
        try:
            client.call(method, *params)
        except RemoteError as error:
            return error.code
        return None

    def ended(self, server, *clients):
        for client in clients:
            self.assertTrue(client.at_end())
        self.assertEqual(server.wait(), 0, server.log_text())

    def test_workers_without_work_hold_nothing_up(self):
        server = self.start()
        workers = [self.worker(server, "work") for _ in range(20)]
        self.term(server)
        self.ended(server, *workers)

    def test_calls_that_were_read_go_on_to_workers(self):
        server = self.start()
        worker, client = self.worker(server, "work", slots=1), self.connect(server)
        calls = [client.send("work", i) for i in range(3)]
        number, _, _ = worker.take()
        client.call("echo", 1)
        self.term(server)
        worker.answer(number, 0)
        worker.serve(lambda _, i: i, 2)
        self.assertEqual([client.response(c) for c in calls], [(None, 0), (None, 1), (None, 2)])
        self.ended(server, client, worker)

    def test_what_workers_ask_themselves_is_refused(self):
        server = self.start()
        worker, client = self.worker(server, "work"), self.connect(server)
        call = client.send("work")
        number, _, _ = worker.take()
        self.term(server)
        eventually(lambda: self.code(worker, "echo", 1) == "DRAINING", "the connection has heard of it")
        for method, params in (("echo", (1,)), ("task.submit", ("echo", [1], {})), ("worker.register", (["more"], {}))):
            self.assertEqual(self.code(worker, method, *params), "DRAINING", method)
        self.assertEqual(worker.call("worker.quiet")["worker"], worker.id)
        worker.answer(number, "done")
        self.assertEqual(client.response(call), (None, "done"))
        self.ended(server, client, worker)

    def test_what_a_worker_had_asked_is_answered(self):
        server = self.start()
        worker = self.worker(server, "work")
        call = worker.send("sleep", "300ms")
        worker.call("echo", 1)
        self.term(server)
        self.assertIsNone(worker.response(call)[0])
        self.ended(server, worker)

    def test_a_task_that_a_worker_has_is_waited_for(self):
        server = self.kept()
        worker, client = self.worker(server, "work"), self.connect(server)
        done, waits = (client.call("task.submit", "work", [i], {"durable": "fsync"})["id"] for i in range(2))
        number, _, params = worker.take()
        self.assertEqual(params, [0])
        self.term(server)
        self.assertTrue(client.at_end())  # and the server waits for the worker alone
        worker.answer(number, "done")
        self.ended(server, worker)
        again = self.start("--store", self.store)
        client = self.connect(again)
        self.assertEqual(client.call("task.get", done, {"result": True})["result"], "done")
        self.assertEqual(client.call("task.get", waits)["attempt"], 0)

    def test_at_the_limit_calls_are_cancelled_and_workers_are_told(self):
        server = self.start(drain="6s")
        worker, client = self.worker(server, "work", context=True), self.connect(server)
        call = client.send("work")
        number, _, _ = worker.take()
        self.term(server)
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "draining"]))
        error, _ = client.response(call)
        self.assertIn("CANCELLED", str(error))
        self.ended(server, client, worker)

    def test_a_task_that_a_worker_hands_back_at_the_limit_goes_on_later(self):
        server = self.kept(drain="6s")
        worker, client = self.worker(server, "work", context=True), self.connect(server)
        task = client.call("task.submit", "work", [], {"durable": "fsync", "retries": 0})["id"]
        number, _, _ = worker.take()
        self.term(server)
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "draining"]))
        worker.fail(number, "KILLED: signal 15")
        self.ended(server, worker)
        self.runs_again(task)

    def test_a_task_that_a_worker_keeps_is_interrupted_in_good_order(self):
        server = self.kept(drain="6s")
        worker, client = self.worker(server, "work"), self.connect(server)
        task = client.call("task.submit", "work", [], {"durable": "fsync", "retries": 0})["id"]
        worker.take()
        self.term(server)
        self.ended(server, worker)
        self.runs_again(task)

    def test_a_second_signal_waits_for_no_worker(self):
        server = self.kept()
        worker, client = self.worker(server, "work"), self.connect(server)
        task = client.call("task.submit", "work", [], {"durable": "fsync", "retries": 0})["id"]
        worker.take()
        self.term(server)
        server.signal(signal.SIGTERM)
        self.ended(server, worker)
        self.runs_again(task)

    def runs_again(self, task):
        """No crash, loss or failure is counted, and the next attempt comes as soon as there is a worker."""
        server = self.start("--store", self.store)
        client = self.connect(server)
        row = client.call("task.get", task, {"history": True})
        self.assertEqual(row["reason"], "no_executor", row)
        events = [e["event"] for e in row["history"]]
        self.assertIn("interrupted", events)
        self.assertEqual([row.get(name, 0) for name in ("crashes", "losses", "failures")], [0, 0, 0], row)
        worker = self.worker(server, "work", context=True)
        number, _, params = worker.take()
        self.assertEqual((params[-1]["task"], params[-1]["attempt"]), (task, 2))
        worker.answer(number, "done")
        eventually(lambda: client.call("task.get", task)["state"] == "done", "the end of the task")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
