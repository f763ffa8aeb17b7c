"""The flight recorder: fetched from a server under load, left in a file by one that dies or whose loop hangs, and read
without a server."""
import glob
import json
import os
import re
import signal
import threading
import unittest

from harness import SANITIZED, Server, ServerTest, build_handlers, eventually, run_ergon, scratch


NOBODY = "unix:///nonexistent"  # a file is read without a server


def show(path, *flags):
    return run_ergon(NOBODY, *flags, "debug", "show", path)


def decode(path, *flags):
    status, out, err = run_ergon(NOBODY, "--json", "debug", "show", path, *flags)
    assert status == 0, err
    return [json.loads(line) for line in out.splitlines()]


class RecorderTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.place = scratch(self.addCleanup)
        self.file = os.path.join(self.place, "server.rec")

    def dump(self):
        status, _, err = run_ergon(self.server.urls[0], "debug", "dump", self.file)
        self.assertEqual(status, 0, err)
        return decode(self.file)

    def test_tasks_are_there_with_their_methods_and_outcomes(self):
        for i in range(100):
            self.client.call("echo", i)
        with self.refused("NOPE"):
            self.client.call("fail", "NOPE", "on purpose")
        self.client.call("block", "20ms")
        with self.refused("NO_METHOD"):
            self.client.call("nothing.there")
        events = self.dump()
        tasks = [e for e in events if e["event"] == "task"]
        self.assertGreaterEqual(sum(e["method"] == "echo" and e["outcome"] == "ok" for e in tasks), 100)
        self.assertEqual([e["outcome"] for e in tasks if e["method"] == "fail"][-1], "FAILED")
        block = [e for e in tasks if e["method"] == "block" and e["outcome"] == "ok"][-1]
        self.assertGreaterEqual(block["run_ns"], 19_000_000)
        self.assertEqual(len({(e["loop"], e["task"]) for e in tasks}), len(tasks))
        self.assertTrue(all(e["loop"].startswith("loop ") for e in tasks), tasks[-1])
        self.assertIn("conn_opened", {e["event"] for e in events})
        self.assertIn("refused", {e["event"] for e in events})
        times = [e["time"] for e in events]
        self.assertEqual(times, sorted(times))

    def test_a_blocking_thread_tells_what_it_runs(self):
        self.client.call("block", "1ms")
        msgid = self.client.send("block", "60s")
        running = {"name": "block", "running": 1}
        eventually(lambda: running.items() <= {h["name"]: h for h in self.client.call("server.info")["handlers"]}["block"].items(),
                   "it runs")
        events = self.dump()
        self.client.call("server.cancel", msgid)
        self.client.response(msgid)
        began = [e for e in events if e["event"] == "began" and e["method"] == "block"]
        ended = {(e["loop"], e["task"]) for e in events if e["event"] == "ended"}
        self.assertTrue(all(e["loop"].startswith("blocking ") for e in began), began)
        open_ones = [e for e in began if (e["loop"], e["task"]) not in ended]
        self.assertEqual([e["task"] for e in open_ones], [max(e["task"] for e in began)])
        self.assertGreaterEqual(len(ended), 1)
        shown = run_ergon(NOBODY, "debug", "show", self.file, "--loop", began[-1]["loop"])[1].decode()
        self.assertRegex(shown, r" began +\d+ +block\n")

    def test_a_cancelled_call_and_a_submitted_task_are_there(self):
        msgid = self.client.send("block", "60s")
        self.assertIs(self.client.call("server.cancel", msgid), True)
        self.client.response(msgid)
        submitted = self.client.call("task.submit", "sum", [2, 3], {})
        self.client.call("task.wait", submitted["id"], {"timeout": "60s"})
        self.assertEqual(self.client.call("task.get", submitted["id"])["state"], "done")
        tasks = [e for e in self.dump() if e["event"] == "task"]
        self.assertIn(("block", "CANCELLED"), {(e["method"], e["outcome"]) for e in tasks})
        self.assertIn(("sum", "ok"), {(e["method"], e["outcome"]) for e in tasks})

    def test_under_load_each_task_is_there_once(self):
        stop = threading.Event()

        def work():
            with self.server.connect() as client:
                while not stop.is_set():
                    for msgid in [client.send("echo", i) for i in range(200)]:
                        client.result(msgid)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        try:
            for _ in range(5):
                tasks = [e for e in self.dump() if e["event"] == "task"]
                self.assertEqual(len({e["task"] for e in tasks}), len(tasks))
                self.assertFalse([e for e in tasks if e["method"] is None], "a task without a method")
        finally:
            stop.set()
            for t in threads:
                t.join()

    def test_what_is_shown_can_be_chosen(self):
        for i in range(10):
            self.client.call("echo", i)
        with self.refused("NOPE"):
            self.client.call("fail", "NOPE", "on purpose")
        self.dump()
        self.assertEqual({e["method"] for e in decode(self.file, "--method", "echo")}, {"echo"})
        # Of this method alone: what an earlier test has cancelled may have ended just now.
        failed = [e for e in decode(self.file, "--failed", "--method", "fail") if e["event"] == "task"]
        self.assertEqual({e["outcome"] for e in failed}, {"FAILED"})
        self.assertEqual(len(decode(self.file, "-n", "3")), 3)
        self.assertEqual(decode(self.file, "--loop", "loop 999"), [])
        status, out, err = run_ergon(NOBODY, "debug", "show", self.file, "--method", "echo")
        self.assertEqual(status, 0, err)
        self.assertRegex(out.decode().splitlines()[-1], r"^\d{4}-.*Z +loop \d+ +task +\d+ .* ok +echo$")

    def test_files_that_are_none_or_end_early(self):
        self.client.call("echo", 1)
        self.dump()
        with open(self.file, "rb") as f:
            data = f.read()
        with open(self.file, "wb") as f:
            f.write(data[: len(data) - 20])
        status, _, err = show(self.file)
        self.assertEqual(status, 1)
        self.assertIn("ends early", err)
        with open(self.file, "wb") as f:
            f.write(b"something else")
        status, _, err = show(self.file)
        self.assertEqual(status, 2)
        self.assertIn("no dump", err)
        self.assertEqual(show(self.file + ".missing")[0], 2)

    def test_parameters_that_are_none(self):
        for params in (["x"], [0], [99, 0, 0], [0, 0, 0, 0]):
            with self.refused("BAD_PARAMS"):
                self.client.call("server.debug_dump", *params)
        self.assertEqual(self.client.call("server.debug_dump", 1, 2**63, 5)["data"], b"")


BADLY = """
#include <ergon/handler.h>
#include <stdlib.h>
#include <fcntl.h>
#include <unistd.h>

static enum ao_verdict crash(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)state, (void)task;
    *(volatile int *)0 = 1;
    return AO_DONE;
}

static void give_up(struct ergon_task *task)
{
    (void)task;
    abort();
}

/* Against the rules of a step: it waits until somebody opens the pipe to write. */
static enum ao_verdict hang(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)state;
    close(open(getenv("HANG_PIPE"), O_RDONLY));
    ergon_result_nil(task);
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "crash", .summary = "", .params = "[]", .step = crash},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "give_up", .summary = "", .params = "[]", .run = give_up},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "hang", .summary = "", .params = "[]", .step = hang},
};

ERGON_MODULE(badly_module, "badly", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
"""


class FilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = build_handlers(scratch(cls.addClassCleanup), "badly", BADLY)

    def setUp(self):
        self.place = scratch(self.addCleanup)

    def start(self, *flags, folder=True, env=None):
        where = ("--recorder-directory", self.place) if folder else ()
        server = Server("--module", self.module, "--loops", "2", *where, *flags, env=env)
        self.addCleanup(server.discard)
        return server

    def files(self, kind):
        return sorted(glob.glob(os.path.join(self.place, f"ergond-*-{kind}.rec")))


@unittest.skipIf(SANITIZED, "a sanitizer has its own handlers of these signals, and they are left alone")
class Crashes(FilesTest):
    def dies(self, method, number, *flags, **options):
        """The file that a server leaves which dies of this method, and what its log says of it."""
        before = set(self.files("crash"))
        server = self.start(*flags, **options)
        with server.connect() as client:
            for i in range(10):
                client.call("echo", i)
            client.call("block", "1ms")
            if method:
                client.send(method)
            else:
                server.signal(number)
            self.assertEqual(server.wait(), -number)
        new = [f for f in self.files("crash") if f not in before]
        return (new[0] if new else None), server.log_text()

    def why(self, file):
        status, out, err = show(file)
        self.assertEqual(status, 0, err)
        return out.decode().splitlines()[0]

    def test_a_handler_that_crashes(self):
        file, log = self.dies("crash", signal.SIGSEGV)
        self.assertRegex(self.why(file), r": SIGSEGV in crash, task \d+, on loop \d$")
        self.assertIn(f"file={file}", log)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        events = decode(file)
        self.assertEqual([e["method"] for e in events if e["event"] == "task"].count("echo"), 10)
        self.assertEqual([(e["event"], e["method"]) for e in events if e["loop"].startswith("blocking")],
                         [("began", "block"), ("ended", "block")])

    def test_a_blocking_handler_that_aborts(self):
        file, _ = self.dies("give_up", signal.SIGABRT)
        self.assertRegex(self.why(file), r": SIGABRT in give_up, task \d+, on blocking \d$")
        last = [e for e in decode(file) if e["loop"].startswith("blocking")][-1]
        self.assertEqual((last["event"], last["method"]), ("began", "give_up"))

    def test_a_signal_from_outside(self):
        file, _ = self.dies(None, signal.SIGSEGV)
        # The kernel may choose any thread for a signal to the process, so the name of the thread is open: no task is named.
        self.assertRegex(self.why(file), r": SIGSEGV, on [a-z]+( \d+)?$")

    def test_beside_the_store_or_nowhere(self):
        file, _ = self.dies("crash", signal.SIGSEGV, "--store", os.path.join(self.place, "tasks.db"), folder=False)
        self.assertIsNotNone(file)
        for flags, folder in (((), False), (("--recorder-files", "off"), True)):
            file, log = self.dies("crash", signal.SIGSEGV, *flags, folder=folder)
            self.assertIsNone(file)
            self.assertNotIn("is in a file", log.split("a server has crashed here")[0])

    def test_the_next_start_tells_and_some_are_kept(self):
        first, log = self.dies("crash", signal.SIGSEGV)
        self.assertNotIn("has crashed here", log)
        old = [os.path.join(self.place, f"ergond-{seconds}-1-crash.rec") for seconds in (5, 70, 600)]
        for path in old:
            open(path, "w").close()
        server = self.start("--recorder-files", "2")
        told = re.compile(rf"a server has crashed here.* file={re.escape(first)} ago=")
        eventually(lambda: told.search(server.log_text()), "the log tells of the crash")
        self.assertEqual(self.files("crash"), sorted([old[-1], first]))
        self.assertEqual(server.stop(), 0)

    def test_a_folder_that_cannot_be_written_later(self):
        server = self.start()
        os.rename(self.place, self.place + ".gone")
        self.addCleanup(os.rename, self.place + ".gone", self.place)
        with server.connect() as client:
            client.send("crash")
            self.assertEqual(server.wait(), -signal.SIGSEGV)
        self.assertEqual(len(glob.glob(self.place + ".gone/*-crash.rec")), 1)  # the folder is the same


class StuckLoops(FilesTest):
    def test_a_loop_that_hangs_leaves_one_file(self):
        pipe = os.path.join(self.place, "pipe")
        os.mkfifo(pipe)
        server = self.start(env={"HANG_PIPE": pipe})
        client = server.connect()
        self.addCleanup(client.close)
        for times in (1, 2):  # the second comes within a minute of the first
            for i in range(10):
                client.call("echo", i)
            call = client.send("hang")
            eventually(lambda: server.log_text().count("loop is away") >= times, f"the loop is away, {times}")
            open(pipe, "w").close()
            client.result(call)
        eventually(lambda: "is in a file" in server.log_text(), "the file is written")
        [file] = self.files("stuck")
        self.assertIn(f"file={file}", server.log_text())
        status, out, err = show(file)
        self.assertEqual(status, 0, err)
        self.assertRegex(out.decode().splitlines()[0], r": loop \d does not finish its round$")
        methods = [e["method"] for e in decode(file) if e["event"] == "task"]
        self.assertGreaterEqual(methods.count("echo"), 10)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
