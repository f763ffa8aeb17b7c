"""Submitted tasks whose workers go: what each case of loss costs them, and what of them lasts beyond the server."""
import os
import random
import signal
import subprocess
import sys
import unittest

from bare_worker import Worker
from harness import Server, ServerTest, eventually, run_ergon, scratch

# A worker of eight slots that answers each second request it has read at once, and the others when more have come.
PROCESS = """
import sys
sys.path.insert(0, sys.argv[2])
import socket
from harness import Client
from bare_worker import Worker

class Here:
    def connect(self, url, tls):
        return Client(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))

worker = Worker(Here(), "w.work", slots=8)
print("registered", flush=True)
kept = []
try:
    while True:
        number, _, params = worker.take()
        kept.append((number, params[0]))
        if len(kept) % 2 == 0 or params[0] % 5 == 0:
            for number, result in kept:
                worker.answer(number, result)
            kept = []
except ConnectionError:
    pass  # the server has stopped
"""


class KeptTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)

    def server(self, *flags):
        server = Server("--store", f"{self.folder}/tasks.db", *flags)
        self.addCleanup(server.discard)
        return server

    def worker(self, server, *methods, **options):
        worker = Worker(server, *methods, **options)
        self.addCleanup(worker.close)
        return worker

    def explain(self, client, task, reason):
        eventually(lambda: client.call("task.explain", task)["reason"] == reason, f"it waits for {reason}")
        return client.call("task.explain", task)

    def events(self, client, task):
        return [e["event"] for e in client.call("task.get", task, {"history": True})["history"]]


class Permits(KeptTest):
    def test_none_is_kept_for_a_task_whose_workers_have_gone(self):
        """It was called for the permit, and while nobody takes it others may have that."""
        server = self.server()
        client, other = server.connect(), server.connect()
        worker = self.worker(server, "w.work")
        hold = client.call("sem.acquire", "gpu", {"of": 1})["hold"]
        called = client.call("task.submit", "w.work", [1], {"limit": {"key": "gpu", "max": 1}})["id"]
        self.explain(client, called, "limit")
        client.call("task.submit", "w.work", [2])
        self.assertEqual(worker.take()[2], [2])  # its only slot
        client.call("sem.release", "gpu", hold)
        self.explain(client, called, "executors")
        waits = other.send("sem.acquire", "gpu", {"wait": "1h"})
        eventually(lambda: client.call("sem.explain", "gpu")["waiting"] == 1, "it waits for the task")
        worker.close()
        hold = other.result(waits)["hold"]
        back = self.worker(server, "w.work", slots=2)
        self.explain(client, called, "limit")
        other.call("sem.release", "gpu", hold)
        self.assertEqual(sorted(back.take()[2] for _ in range(2)), [[1], [2]])


class Offers(KeptTest):
    def test_a_task_waits_for_the_next_worker(self):
        with self.server() as server, server.connect() as client:
            with self.assertRaisesRegex(Exception, "NO_METHOD"):
                client.call("task.submit", "w.work")
            worker = self.worker(server, "w.work")
            worker.close()
            eventually(lambda: not client.call("worker.list")["workers"], "it has gone")
            task = client.call("task.submit", "w.work", [7])["id"]
            shown = self.explain(client, task, "no_executor")
            self.assertRegex(shown["text"], r'^no worker offers "w.work" now; the last one left .* ago: worker w1 ')
            self.assertRegex(run_ergon(server.urls[0], "task", "explain", task)[1].decode(), r"(?m)^left +(now|\d.* ago)$")
            self.assertEqual(client.call("queue.explain", "w.work")["reason"], "no_executor")
            other = self.worker(server, "w.work")
            number, _, params = other.take()
            self.assertEqual(params, [7])
            other.answer(number, 8)
            self.assertEqual(client.call("task.wait", task)["ended"][0]["result"], 8)
            self.assertEqual([q["kind"] for q in client.call("queue.list") if q["method"] == "w.work"], ["worker"])
            other.close()

    def test_one_that_is_expected_waits_for_the_first(self):
        with self.server("--workers-methods", "img.*") as server, server.connect() as client:
            task = client.call("task.submit", "img.resize", [7])["id"]
            self.explain(client, task, "no_executor")
            with self.assertRaisesRegex(Exception, "NO_METHOD"):
                client.call("task.submit", "text.resize")
            worker = self.worker(server, "img.resize")
            worker.serve(lambda method, n: n + 1)
            self.assertEqual(client.call("task.wait", task)["ended"][0]["result"], 8)
            worker.close()

    def test_names_are_remembered(self):
        with self.server() as server, server.connect() as client:
            worker = self.worker(server, "w.work")
            client.call("task.submit", "w.work", [1], {"durable": "fsync"})  # the name was written before
            worker.serve(lambda method, n: n)
            worker.close()
        with self.server() as server, server.connect() as client:
            with self.assertRaisesRegex(Exception, "NO_WORKER"):
                client.call("w.work", 1)
            task = client.call("task.submit", "w.work", [2])["id"]
            shown = self.explain(client, task, "no_executor")
            self.assertIn('workers offered "w.work" once', shown["text"])
            worker = self.worker(server, "w.work")
            worker.serve(lambda method, n: n)
            self.assertEqual(client.call("task.wait", task)["ended"][0]["result"], 2)
            worker.close()


class Loss(ServerTest):
    def worker(self, *methods, **options):
        worker = Worker(self.server, *methods, **options)
        self.addCleanup(worker.close)
        return worker

    def submit(self, method, **options):
        return self.client.call("task.submit", method, [], options)["id"]

    def get(self, task):
        return self.client.call("task.get", task, {"history": True})

    def lose(self, method, slots=1):
        """A worker that is lost as soon as it has all that it takes."""
        worker = self.worker(method, slots=slots)
        for _ in range(slots):
            worker.take()
        worker.reset()
        self.gone(worker)

    def offered(self, method):
        """From now on the server knows the method, so that tasks of it wait for a worker; there is none."""
        worker = self.worker(method)
        worker.close()
        self.gone(worker)

    def gone(self, worker):
        eventually(lambda: worker.id not in [w["worker"] for w in self.client.call("worker.list")["workers"]], "it has gone")

    def test_one_that_kills_each_worker_is_dead_after_four(self):
        self.offered("k.alone")
        task = self.submit("k.alone")
        for _ in range(4):
            self.lose("k.alone")
        eventually(lambda: self.get(task)["state"] == "dead", "it is dead")
        shown = self.get(task)
        self.assertRegex(shown["error"], r"^WORKER_LOST: 4 workers were lost one after another while they had it; the last: worker w")
        self.assertEqual((shown["attempt"], shown["losses"], shown["failures"]), (4, 10, 0))
        self.assertEqual([e["event"] for e in shown["history"] if e["event"] == "interrupted"], ["interrupted"] * 4)

    def test_one_that_was_taken_away_three_times_lives(self):
        self.offered("k.thrice")
        task = self.submit("k.thrice")
        for _ in range(3):
            self.lose("k.thrice")
        worker = self.worker("k.thrice", context=True)
        number, _, (context,) = worker.take()
        self.assertEqual((context["task"], context["attempt"]), (task, 4))
        worker.answer(number, "alive")
        self.assertEqual(self.client.call("task.wait", task)["ended"][0]["state"], "done")
        self.assertEqual(self.get(task)["losses"], 0)

    def test_what_has_to_do_with_a_batch_knows_it(self):
        worker = self.worker("k.part", "k.end", context=True)
        outer = self.client.call("batch.create", {})["id"]
        batch = self.client.call("batch.create", {"on_end": ["k.end", [], {"batch": outer, "keep": "1h"}]})["id"]
        task = self.submit("k.part", batch=batch)
        number, _, (context,) = worker.take()
        self.assertEqual((context["batch"], context.get("callback_of")), (batch, None))
        self.client.call("batch.close", batch)
        worker.answer(number)
        number, _, (context,) = worker.take()
        self.assertEqual((context["batch"], context["callback_of"]), (outer, batch))
        worker.answer(number)
        self.assertEqual(self.client.call("task.get", task).get("callback_of"), None)
        shown = self.client.call("task.get", context["task"])
        self.assertEqual((shown["batch"], shown["callback_of"]), (outer, batch))
        self.submit("k.part")
        number, _, (context,) = worker.take()
        self.assertEqual([key for key in ("batch", "callback_of") if key in context], [])
        worker.answer(number)

    def test_a_permit_is_another_s_after_a_loss(self):
        worker = self.worker("k.limit", slots=2)
        first, other = (self.submit("k.limit", limit={"key": "gpu", "max": 1}) for _ in range(2))
        worker.take()
        worker.reset()
        self.gone(worker)  # a worker that was there before would be given the other, whose permit comes free
        self.lose("k.limit")
        eventually(lambda: self.get(first)["reason"] == "lost", "it waits")
        self.assertIn("losses: 4 of 9", self.client.call("task.explain", first)["text"])
        worker = self.worker("k.limit", slots=2, context=True)
        number, _, (context,) = worker.take()
        self.assertEqual(context["task"], other)
        worker.answer(number)
        number, _, (context,) = worker.take()
        self.assertEqual((context["task"], context["attempt"]), (first, 3))
        worker.answer(number)
        self.assertEqual(len(self.client.call("task.wait", [first, other])["ended"]), 2)

    def test_what_was_not_sent_has_not_begun(self):
        full = self.worker("k.unsent", slots=8)
        tasks = [self.client.call("task.submit", "k.unsent", ["x" * (15 << 20)])["id"] for _ in range(2)]
        full.reset()
        eventually(lambda: sum(self.get(task)["losses"] for task in tasks) == 1, "one was handed over in part: it is lost")
        worker = self.worker("k.unsent", slots=8, context=True)
        begun = {}
        for _ in tasks:
            number, _, (_, context) = worker.take()
            begun[context["task"]] = context["attempt"]
            worker.answer(number)
        self.assertEqual(sorted(begun), sorted(tasks))
        for task in tasks:  # an attempt counts if, and only if, it was handed over
            shown = self.client.call("task.wait", task)["ended"][0]
            self.assertEqual((shown["state"], shown["attempt"]), ("done", begun[task]))
            self.assertEqual(self.get(task)["history"][-1]["event"], "done")
            interrupted = [e["event"] for e in self.get(task)["history"]].count("interrupted")
            self.assertEqual(interrupted, begun[task] - 1)

    def test_one_that_nobody_wants_any_more_goes_in_silence(self):
        worker = self.worker("k.late")
        task = self.submit("k.late", timeout="500ms")
        worker.take()
        eventually(lambda: self.get(task)["state"] == "failed", "its time is over")
        worker.reset()
        self.gone(worker)
        self.assertNotIn("fenced", [e["event"] for e in self.get(task)["history"]])

    def test_a_late_answer_is_fenced(self):
        worker = self.worker("k.fenced")
        task = self.submit("k.fenced", timeout="500ms")
        number, _, _ = worker.take()
        eventually(lambda: self.get(task)["state"] == "failed", "its time is over")
        worker.answer(number, "too late")
        eventually(lambda: self.get(task)["history"][-1]["event"] == "fenced", "its answer is thrown away")

    def test_a_broken_release_burns_one_task_and_not_the_queue(self):
        self.offered("k.release")
        tasks = [self.submit("k.release") for _ in range(40)]
        self.lose("k.release", slots=8)
        eventually(lambda: all(self.get(task)["losses"] > 0 for task in tasks[:8]), "each is counted")
        worker = self.worker("k.release", slots=8, context=True)
        eventually(lambda: "its workers die" in self.client.call("task.explain", tasks[-1])["text"], "it is said")
        number, _, _ = worker.take()  # one is tried...
        self.assertEqual(self.client.call("worker.list", {"method": "k.release"})["workers"][0]["out"], 1)
        worker.answer(number)  # ...and answered: all go on
        for _ in range(len(tasks) - 1):
            worker.answer(worker.take()[0])
        self.assertEqual(len(self.client.call("task.wait", tasks)["ended"]), len(tasks))
        self.assertLess(sum(self.get(task)["attempt"] for task in tasks), len(tasks) + 9)


class ServerEnds(KeptTest):
    def out(self, server, client):
        """A task that is out at a worker, and known to be."""
        self.worker(server, "s.work")
        task = client.call("task.submit", "s.work", [])["id"]
        eventually(lambda: client.call("task.get", task)["state"] == "running", "it is out")
        return task

    def goes_on(self, task, attempt):
        with self.server() as server, server.connect() as client:
            shown = client.call("task.get", task)
            self.assertEqual((shown["attempt"], shown["crashes"], shown["losses"], shown["failures"]), (attempt - 1, 0, 0, 0))
            worker = self.worker(server, "s.work", context=True)
            number, _, (context,) = worker.take()
            self.assertEqual((context["task"], context["attempt"]), (task, attempt))
            worker.answer(number)
            client.call("task.wait", task)
            events = self.events(client, task)  # of one that was killed at once the file need not know the start
            self.assertEqual((events.count("interrupted"), events[-2:]), (attempt - 1, ["started", "done"]))
            worker.close()

    def test_a_stop_in_order_interrupts_what_is_out(self):
        with self.server("--drain", "6s") as server, server.connect() as client:
            task = self.out(server, client)
        self.goes_on(task, 2)

    def test_a_crash_is_not_counted_as_one_of_the_task_s(self):
        with self.server().until_killed() as server, server.connect() as client:
            task = self.out(server, client)
        for _ in range(3):
            with self.server().until_killed() as server, server.connect() as client:
                self.worker(server, "s.work")
                eventually(lambda: client.call("task.get", task)["state"] == "running", "it is out again")
        self.goes_on(task, 5)


class Killed(KeptTest):
    def spawn(self, server):
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(server.port), os.path.dirname(os.path.abspath(__file__))],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "registered\n")
        return process

    def end(self, process):
        process.kill()
        process.wait()
        process.stdout.close()

    def test_processes_that_are_killed_at_random(self):
        chance = random.Random(5)
        with self.server() as server, server.connect() as client:
            workers = [self.spawn(server) for _ in range(3)]
            ids = {}
            for i in range(300):
                durable = chance.choice(("none", "async", "fsync"))
                ids[client.call("task.submit", "w.work", [i], {"durable": durable})["id"]] = i
                if i % 60 == 30:
                    at = chance.randrange(len(workers))
                    os.kill(workers[at].pid, signal.SIGKILL)
                    workers[at] = self.spawn(server)
            extra = iter(range(1000, 2000, 5))  # such as are answered at once, so that those do which are kept back
            while True:
                answer = client.call("task.wait", list(ids), {"timeout": "200ms"})
                if not answer["open"]:
                    break
                client.call("task.submit_many", [["w.work", [next(extra)]] for _ in range(3)])
            for task in answer["ended"]:
                self.assertEqual((task["state"], task["result"]), ("done", ids[task["id"]]))
            self.assertTrue(client.call("server.audit")["balanced"])


if __name__ == "__main__":
    unittest.main()
