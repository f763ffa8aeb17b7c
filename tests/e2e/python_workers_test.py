"""Workers of the Python package: processes that die, servers that die under them, deploys, cancels, and what is told of a task
while it runs."""
import os
import signal
import socket
import subprocess
import sys
import unittest

from harness import LIMIT, SOURCE, RemoteError, Server, eventually, scratch

# `note` says what happened to a handler; a file says what one is to do.
WORKER = '''
import os
import sys
import time
import ergon_client


def note(*words):
    with open(sys.argv[2], "a") as f:
        print(*words, file=f)


def double(context, number):
    time.sleep(0.005)
    return 2 * number


def once(context):
    """The first attempt goes on for ever, and says whose it is."""
    if context.attempt > 1:
        return os.getpid()
    context.progress(0, 0, str(os.getpid()))
    time.sleep(1000)


def hold(context, sees):
    context.progress(0, 0, str(os.getpid()))
    if context.attempt > 1:
        return "held"
    if not sees:
        time.sleep(1000)
    context.cancelling.wait()
    note("cancelled", context.cancelled)
    context.check()


def finish(context, path):
    context.progress(0, 0, str(os.getpid()))
    while not os.path.exists(path):
        time.sleep(0.01)
    return context.attempt


def steps(context):
    for i in range(3):
        context.progress(i, 3, f"step {i}")
        context.partial([i])
    return [context.task, context.attempt, context.tenant, context.left is not None]


def fail(context, code):
    if code == "AGAIN":
        if context.attempt == 1:
            raise ergon_client.Again(0.01)
        return context.attempt
    if code == "PERMANENT":
        raise ergon_client.Permanent("never")
    raise ergon_client.RemoteError(code, f"attempt {context.attempt}")


def nested(context, number):
    return ergon.submit("double", number).wait() + ergon.call("double", number)


with ergon_client.Client(os.environ["ERGON_URL"], token=os.environ.get("ERGON_TOKEN"), backoff=(0.01, 0.1)) as ergon:
    methods = [double, once, hold, finish, steps, fail, nested]
    ergon.work({f.__name__: f for f in methods}, slots=4, name=sys.argv[1], grace=float(sys.argv[3]),
               lease=float(os.environ.get("LEASE") or 0) or None)
'''


class Workers(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.notes = os.path.join(self.folder, "notes")
        self.program = os.path.join(self.folder, "worker.py")
        with open(self.program, "w") as f:
            f.write(WORKER)
        self.serve()
        self.workers = []
        self.addCleanup(self.end)

    def serve(self, allow="['*', 'worker.offer.*']"):
        path = os.path.join(self.folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(f"listen: [{{url: 'unix://{self.folder}/socket', allow: {allow}}}]\n"
                    f"store: {self.folder}/tasks\n")
        self.server = Server("--config", path, listen=(), demo=False)
        self.server.urls.append(self.server.process.stdout.readline().strip())
        self.client = self.server.connect()
        self.addCleanup(self.client.close)

    def end(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.server.discard()

    def start(self, grace=30, **environment):
        """A worker, which is ready."""
        name = f"n{len(self.workers)}"
        environment = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "clients", "python"), "ERGON_URL": self.server.urls[0],
                       "PYTHONDONTWRITEBYTECODE": "1", **environment}
        worker = subprocess.Popen([sys.executable, self.program, name, self.notes, str(grace)], env=environment,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(worker.stderr.close)
        self.workers.append(worker)
        eventually(lambda: name in self.names() or worker.poll() is not None, "the worker is ready, or has ended")
        return worker

    def names(self):
        return [w["name"] for w in self.client.call("worker.list")["workers"]]

    def submit(self, method, *params, **options):
        return self.client.call("task.submit", method, list(params), options)["id"]

    def ended(self, *ids):
        """The tasks, when all have ended."""
        found = []
        while len(found) < len(ids):
            left = [i for i in ids if i not in {t["id"] for t in found}]
            found += self.client.call("task.wait", left[:200], {"timeout": 5000, "result": True})["ended"]
        return {t["id"]: t for t in found}

    def task(self, id):
        return self.client.call("task.get", id, {"history": True})

    def events(self, id):
        return [e["event"] for e in self.task(id)["history"]]

    def runs_at(self, id):
        """The process in which it runs, once it does."""
        def found():
            return [e for e in self.task(id)["history"] if e["event"] == "progress"]
        eventually(found, "it has begun")
        pid = int(found()[0]["text"])
        return next(w for w in self.workers if w.pid == pid)

    def said(self):
        with open(self.notes) as f:
            return f.read()

    def test_one_of_three_is_killed_under_load(self):
        for _ in range(3):
            self.start()
        once = self.submit("once")
        ids = [self.submit("double", i) for i in range(600)]
        victim = self.runs_at(once)
        victim.kill()
        victim.wait()
        tasks = self.ended(*ids, once)
        self.assertEqual([tasks[i]["result"] for i in ids], [2 * i for i in range(600)])
        self.assertNotEqual(tasks[once]["result"], victim.pid)
        self.assertIn(tasks[once]["result"], [w.pid for w in self.workers])
        self.assertIn("interrupted", self.events(once))
        self.assertEqual(sorted(self.names()), sorted(f"n{i}" for i in range(3) if self.workers[i] is not victim))
        self.assertTrue(all(t["state"] == "done" for t in tasks.values()))
        self.assertTrue(self.client.call("server.audit")["balanced"])

    def test_one_that_is_stopped_loses_its_lease(self):
        """Its kernel answers, and its process does not; one whose handler keeps quiet is not lost."""
        for _ in range(2):
            self.start(LEASE="3")  # which the other keeps on a busy machine, too
        once = self.submit("once")
        stopped = self.runs_at(once)
        stopped.send_signal(signal.SIGSTOP)
        tasks = self.ended(once)
        self.assertNotEqual(tasks[once]["result"], stopped.pid)
        self.assertEqual(len(self.names()), 1)
        self.assertEqual(self.events(once).count("interrupted"), 1)
        stopped.send_signal(signal.SIGCONT)
        eventually(lambda: len(self.names()) == 2, "it is back")

    def test_the_server_is_killed_under_them(self):
        for _ in range(3):
            self.start()
        held = self.submit("hold", True)
        self.runs_at(held)
        ids = [self.submit("double", i) for i in range(300)]
        self.server.discard()
        self.serve()
        tasks = self.ended(*ids, held)
        self.assertEqual([tasks[i]["result"] for i in ids], [2 * i for i in range(300)])
        self.assertEqual(tasks[held]["result"], "held")
        # Its next attempt may have ended at another worker before the first handler was told.
        eventually(lambda: os.path.exists(self.notes) and self.said() == "cancelled lost\n", "it was told")
        eventually(lambda: sorted(self.names()) == ["n0", "n1", "n2"], "all are back")
        self.assertEqual([w.poll() for w in self.workers], [None] * 3)
        self.assertEqual(self.client.call("double", 7), 14)

    def test_slots_are_taken_until_handlers_have_ended(self):
        """Those of before the loss go on regardless: what comes from the next server waits for them, and is no failure."""
        self.start()
        path = os.path.join(self.folder, "go on")
        ids = [self.submit("finish", path) for _ in range(4)]
        for id in ids:
            self.runs_at(id)
        self.server.discard()
        self.serve()
        eventually(lambda: [w["out"] for w in self.client.call("worker.list")["workers"]] == [4], "they are sent again")
        with open(path, "w"):
            pass
        self.assertEqual([t["result"] for t in self.ended(*ids).values()], [2] * 4)

    def test_a_deploy(self):
        """What can finish does; what cannot is handed back, is no failure, and goes on elsewhere."""
        old = self.start(grace=0.2)
        path = os.path.join(self.folder, "go on")
        held, deaf = self.submit("hold", True), self.submit("hold", False)
        for id in (held, deaf):
            self.assertIs(self.runs_at(id), old)
        self.start()
        old.send_signal(signal.SIGTERM)
        tasks = self.ended(held, deaf)
        self.assertEqual({t["result"] for t in tasks.values()}, {"held"})
        self.assertEqual(old.wait(LIMIT), 0)
        self.assertEqual(self.said(), "cancelled stopping\n")
        for id in (held, deaf):
            self.assertNotIn("interrupted", self.events(id))
            self.assertNotIn("attempt_failed", self.events(id))
        patient = self.start(grace=60)
        self.workers[1].send_signal(signal.SIGTERM)
        self.assertEqual(self.workers[1].wait(LIMIT), 0)
        finishing = self.submit("finish", path)
        self.assertIs(self.runs_at(finishing), patient)
        patient.send_signal(signal.SIGTERM)
        eventually(lambda: self.client.call("worker.list")["workers"][0]["state"] == "quiet", "it takes nothing more")
        with open(path, "w"):
            pass
        self.assertEqual(self.ended(finishing)[finishing]["result"], 1)
        self.assertEqual(patient.wait(LIMIT), 0)

    def test_cancels_reach_the_handler(self):
        self.start()
        held = self.submit("hold", True)
        self.runs_at(held)
        self.client.call("task.cancel", held)
        eventually(lambda: os.path.exists(self.notes) and self.said() == "cancelled cancelled\n", "it was told")
        # A handler that is cancelled before it looks at its context learns nothing: then the call is made again, with more time.
        free = lambda: self.client.call("worker.list")["workers"][0]["out"] == 0
        for ms in (100, 1000, 10000, 50000):
            with self.assertRaises(RemoteError):
                self.client.call("task.call", "hold", [True], {"deadline": f"{ms}ms"})
            eventually(free, "its slot is free")
            if self.said().endswith("cancelled deadline\n"):
                break
        self.assertTrue(self.said().endswith("cancelled deadline\n"))

        def is_told_that_its_caller_has_gone():
            with self.server.connect() as other:
                other.send("hold", True)
                eventually(lambda: not free(), "it runs")
            eventually(free, "the slots are free again")
            return self.said().endswith("cancelled gone\n")
        eventually(is_told_that_its_caller_has_gone, "it was told")

    def test_who_may_not_offer_is_told(self):
        self.server.discard()
        self.serve("['*', 'worker.offer.double']")
        denied = self.start()
        self.assertEqual(denied.wait(LIMIT), 1)
        self.assertIn('may not offer "once"', denied.stderr.read())

    def test_what_is_told_and_known(self):
        self.start()
        task = self.submit("steps", deadline="1h")
        shown = self.ended(task)[task]
        self.assertEqual(shown["result"][:2], [task, 1])
        self.assertTrue(shown["result"][3])
        events = [(e["event"], e.get("text"), e.get("data")) for e in self.task(task)["history"]]
        self.assertIn(("progress", "step 2", {"done": 2, "total": 3}), events)
        self.assertIn([0], [data for event, _, data in events if event == "partial"])
        self.assertEqual(self.client.call("steps"), [None, 1, None, False])
        self.assertEqual(self.client.call("nested", 5), 20)

    def test_a_failure_brings_its_traceback(self):
        self.start()
        task = self.submit("fail", "NO_SPACE")
        self.ended(task)
        attempt, = self.client.call("task.get", task, {"attempts": True})["attempts"]
        self.assertEqual((attempt["name"], attempt["host"], attempt["outcome"]), ("n0", socket.gethostname(), "failed"))
        self.assertEqual(attempt["error"], "NO_SPACE: attempt 1")
        self.assertRegex(attempt["traceback"], r'\ATraceback .*\n  File ".*", line \d+, in fail\n'
                         r'(    .*\n)+ergon_client.errors.RemoteError: NO_SPACE: attempt 1\n\Z')
        self.assertEqual(self.client.call("worker.list")["workers"][0]["host"], socket.gethostname())

    def test_failures(self):
        self.start()
        with self.assertRaisesRegex(RemoteError, "NO_SPACE: attempt 1"):
            self.client.call("fail", "NO_SPACE")
        again, never, twice = (self.submit("fail", code, retries=1, backoff=1) for code in ("AGAIN", "PERMANENT", "NO_SPACE"))
        tasks = self.ended(again, never, twice)
        self.assertEqual((tasks[again]["state"], tasks[again]["result"]), ("done", 2))
        self.assertNotIn("attempt_failed", self.events(again))
        self.assertEqual(tasks[never]["error"], "PERMANENT: never")
        self.assertEqual(self.task(never)["attempt"], 1)
        self.assertEqual(tasks[twice]["error"], "NO_SPACE: attempt 2")
        with self.assertRaisesRegex(RemoteError, "BAD_PARAMS: "):
            self.client.call("double")


if __name__ == "__main__":
    unittest.main()
