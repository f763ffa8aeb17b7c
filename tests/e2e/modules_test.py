"""Modules in processes of their own: whatever a handler does to its process costs its own attempt, and nobody else's."""
import os
import random
import re
import shutil
import signal
import subprocess
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from harness import BUILD, ERGOND, SANITIZED, SOURCE, RemoteError, Server, ServerTest, build_handlers, build_module, eventually, scratch

HARM = os.path.join(BUILD, "tests", "e2e", "harm.so")
HARMS = int(os.environ.get("ERGON_HARMS", "24"))
# A sanitizer takes the signals of faults, and more memory than a limit may be.
MEMORY = "off" if SANITIZED else "192m"
ENDS = {"exit": "exit() was called", "_exit": "it exited, or was killed", "kill": "it exited, or was killed"}
if not SANITIZED:
    ENDS |= {"segv": "SIGSEGV", "abort": "SIGABRT", "hog": "", "loop": "its step did not return in time"}
WAITS_AT_ONCE = 1000
METHODS = ("harm.step", "harm.nap", "harm.block")


def spec(*options):
    return ",".join([HARM, "process", f"memory={MEMORY}", "stuck=3s", *options])


def processes(server):
    """Those that the server has started."""
    found = []
    for thread in os.listdir(f"/proc/{server.pid}/task"):
        with open(f"/proc/{server.pid}/task/{thread}/children", encoding="ascii") as f:
            found += f.read().split()
    return found


def metrics(server):
    """Of one with one admin listener, once."""
    with urllib.request.urlopen(server.process.stdout.readline().strip() + "/metrics", timeout=60) as page:
        return page.read().decode()


class Harm(ServerTest):
    FLAGS = ("--module", spec("processes=2"))

    def ended(self, *tasks):
        done, waits = [], list(tasks)
        while waits:
            answer = self.client.call("task.wait", waits[:WAITS_AT_ONCE], {"timeout": "60s"})
            done += answer["ended"]
            ended = {task["id"] for task in answer["ended"]}
            waits = [task for task in waits[WAITS_AT_ONCE:] + waits[:WAITS_AT_ONCE] if task not in ended]
        return done

    def workers(self):
        return self.client.call("worker.list")["workers"]

    def submit(self, method, how, **options):
        return self.client.call("task.submit", method, [how], options)["id"]

    def test_what_a_call_does_to_its_process(self):
        for how, text in ENDS.items():
            for method in METHODS:
                if (method, how) == ("harm.block", "loop"):
                    continue  # it has a thread of its own, and no limit
                with self.refused("CRASHED") as caught:
                    self.client.call(method, how)
                self.assertIn(text, str(caught.exception.value), (method, how))
                self.assertEqual(self.client.call(method, "fine"), "fine")

    def test_a_task_fails_by_it_and_is_tried_again_as_after_any_failure(self):
        task, = self.ended(self.submit("harm.nap", "_exit", retries=2, backoff="1ms"))
        self.assertEqual((task["state"], task["failures"], task["losses"]), ("dead", 3, 0), task)
        self.assertIn("CRASHED: the handler ended its process", task["error"])

    def test_a_process_that_has_closed_its_connection_is_ended(self):
        eventually(lambda: len(self.workers()) == 4, "all processes are there")
        with self.assertRaises(RemoteError):
            self.client.call("harm.block", "deaf")
        eventually(lambda: len(self.workers()) == 4, "another one is there in its place")
        eventually(lambda: len(processes(self.server)) == 2, "the one before has ended")

    def test_a_process_that_a_handler_forks_is_none_of_the_modules(self):
        eventually(lambda: len(self.workers()) == 4, "all processes are there")
        before = processes(self.server)
        with self.refused("CRASHED") as caught:
            self.client.call("harm.block", "fork")
        self.assertIn("it exited, or was killed", str(caught.exception.value))
        eventually(lambda: set(before) - set(processes(self.server)), "it was seen to end")
        gone, = set(before) - set(processes(self.server))
        os.killpg(int(gone), signal.SIGKILL)  # the one that was forked is there still, in its group

    def test_a_blocking_handler_that_does_not_end_in_time(self):
        task = self.submit("harm.block", "loop" if not SANITIZED else "_exit", timeout="200ms")
        self.assertNotEqual(self.ended(task)[0]["state"], "done")
        eventually(lambda: self.client.call("harm.block", "fine") == "fine", "there is room again")
        eventually(lambda: not any(worker["late"] for worker in self.workers()), "its process was ended")

    def test_harms_among_others(self):
        rng = random.Random(int(os.environ.get("ERGON_SEED", "1")))
        self.client.call("harm.step", "fine")
        eventually(lambda: len(self.workers()) == 4, "all processes are there")
        descriptors, maps = self.server.fds(), self.count_maps()
        hows = [rng.choice(sorted(ENDS)) for _ in range(HARMS)]
        others, harms = [], []
        for how in hows:
            others += [self.submit(rng.choice(METHODS), "fine") for _ in range(8)]
            harms.append(self.submit(rng.choice(METHODS[:2]), how, retries=0))
        for task in self.ended(*others):
            self.assertEqual((task["state"], task["result"], task["failures"], task["crashes"]), ("done", "fine", 0, 0), task)
        known = 0
        for task in self.ended(*harms):
            self.assertNotEqual(task["state"], "done", task)
            known += "CRASHED" in task["error"]
        self.assertGreater(known, HARMS / 2)
        self.assertTrue(self.client.call("server.audit")["balanced"])
        eventually(lambda: len(self.workers()) == 4, "all processes are there again")
        eventually(lambda: len(processes(self.server)) == 2, "none is left behind")
        eventually(lambda: self.server.fds() <= descriptors, "no descriptor is left behind")
        eventually(lambda: self.count_maps() <= maps, "no board is left behind")

    def count_maps(self):
        with open(f"/proc/{self.server.pid}/maps", encoding="utf-8") as f:
            return f.read().count("/memfd:ergon ")

    def test_long_parameters(self):
        for length in (100, (32 << 10) - 1, 32 << 10, 65531, 64 << 10, 1 << 20, 5000000):
            for method in METHODS:
                self.assertEqual(self.client.call(method, "x" * length), "x" * length)
        self.assertGreater(max(self.shared()), 1000, "they are shared")

    def test_many_long_parameters_at_a_time(self):
        """More than there is shared memory for; each call gets its own, and the memory is given back."""
        eventually(lambda: len(self.workers()) == 4, "all processes are there")
        long = "x" * (2 << 20)

        def play(i):
            ended = []
            with self.server.connect() as client:
                for j in range(2):
                    try:
                        ended.append(client.call("harm.nap", f"{i}.{j}", 100, long) == f"{i}.{j}")
                    except RemoteError as error:
                        ended.append(error.code)
            return ended

        with ThreadPoolExecutor(70) as threads:
            plays = [threads.submit(play, i) for i in range(70)]
            with self.refused("CRASHED"):
                self.client.call("harm.nap", "_exit", 50, "x" * 100000)
            ended = [how for done in plays for how in done.result()]
        self.assertLessEqual(set(ended), {True, "WORKER_LOST"})  # what had begun beside the harm
        self.assertGreaterEqual(ended.count(True), 70)  # each had one at a time
        eventually(lambda: len(self.workers()) == 4, "all processes are there again")
        self.assertLessEqual(max(self.shared()), 16 << 10)

    def shared(self):
        """KiB that are there of what each process shares with the server for parameters."""
        with open(f"/proc/{self.server.pid}/smaps", encoding="utf-8") as f:
            return [int(size) for size in re.findall(r"/memfd:ergon parameters .*\n(?:.*\n)*?Rss: +([0-9]+) kB", f.read())]

    def test_no_other_worker_takes_its_methods(self):
        with self.refused("DENIED") as caught:
            self.client.call("worker.register", ["harm.step"])
        self.assertIn("in processes of its module", str(caught.exception.value))


    def test_what_is_shown_of_its_methods(self):
        about = self.client.call("server.describe", "harm.nap")
        self.assertEqual({key: about[key] for key in ("kind", "summary", "params", "module")},
                         {"kind": "worker", "summary": "does harm after a sleep", "params": "[how, ms]", "module": "harm"})


    def test_ends_are_counted(self):
        with Server("--admin", "http://127.0.0.1:0", "--module", spec()) as server, server.connect() as client:
            with self.assertRaises(RemoteError):
                client.call("harm.step", "kill")
            self.assertEqual(client.call("harm.step", "fine"), "fine")
            said = metrics(server)
        self.assertIn('ergon_module_processes{module="harm"} 1\n', said)
        self.assertIn('ergon_module_process_ends_total{module="harm"} 1\n', said)
        self.assertIn('ergon_module_process_failures_total{module="harm"} 0\n', said)


class Ends(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)

    def start_failing(self, *flags):
        done = subprocess.run([ERGOND, "--listen", "ergon://127.0.0.1:0", *flags], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_none_outlives_its_server(self):
        server = Server("--module", spec("processes=2"))
        client = server.connect()
        eventually(lambda: len(client.call("worker.list")["workers"]) == 4, "all processes are there")
        pids = processes(server)
        self.assertEqual(len(pids), 2)
        client.close()
        server.discard()
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "they are gone")

    def test_calls_wait_while_it_starts(self):
        with Server("--module", spec()) as server, server.connect() as client:
            for _ in range(3):
                harm, others = client.send("harm.step", "kill"), [client.send("harm.nap", "fine") for _ in range(3)]
                with self.assertRaises(RemoteError) as caught:
                    client.result(harm)
                self.assertEqual(caught.exception.code, "CRASHED")
                self.assertEqual([client.result(call) for call in others], ["fine"] * 3)

    def test_others_that_had_begun_are_run_again_and_no_loss_is_counted(self):
        with Server("--tasks-losses", "2", "--module", spec()) as server, server.connect() as client:
            others = [client.call("task.submit", "harm.nap", ["fine", 1000])["id"] for _ in range(4)]
            for _ in range(3):
                guilty = client.call("task.submit", "harm.nap", ["kill"], {"retries": 0})["id"]
                self.assertIn("CRASHED", client.call("task.wait", [guilty], {"timeout": "60s"})["ended"][0]["error"])
            for task in others:
                ended = client.call("task.wait", [task], {"timeout": "60s"})["ended"][0]
                self.assertEqual((ended["state"], ended["failures"]), ("done", 0), ended)

    def test_processes_that_are_started_after_a_reload(self):
        with Server("--module", spec()) as server, server.connect() as client:
            server.signal(signal.SIGHUP)
            eventually(lambda: "msg=reloaded" in server.log_text(), "it has taken the configuration")
            with self.assertRaises(RemoteError):
                client.call("harm.step", "kill")
            self.assertEqual(client.call("harm.step", "fine"), "fine")

    def test_secret_parameters(self):
        path = build_handlers(self.folder, "secret", """
#include <ergon/handler.h>
static void run(struct ergon_task *task) { ergon_result_nil(task); }
static const struct ergon_handler login = {.size = sizeof login, .kind = ERGON_BLOCKING, .name = "login", .run = run,
                                           .flags = ERGON_SECRET_PARAMS};
ERGON_MODULE(secret, "secret", "1.0")
{
    return ergon_register(module, &login);
}
""")
        with Server("--module", path + ",process,memory=off") as server, server.connect() as client:
            client.call("login", "hunter2")
            task = client.call("task.submit", "login", ["hunter2"], {"delay": "1h"})["id"]
            self.assertNotIn("hunter2", str(client.call("task.explain", task)))

    def test_what_a_handler_says_and_submits(self):
        path = build_handlers(self.folder, "says", """
#include <ergon/handler.h>
static void run(struct ergon_task *task)
{
    struct ergon_bytes seen;
    ergon_progress(task, 1, 2, "half");
    ergon_partial(task, "\\x07", 1);
    ergon_submit(task, "echo", (struct ergon_bytes){(const uint8_t *)"\\x91\\xa4" "left", 6}, (struct ergon_bytes){0});
    if (!ergon_last_checkpoint(task, &seen)) {
        ergon_checkpoint(task, "\\x2a", 1);
        ergon_fail(task, "FIRST", "the next one has the checkpoint");
        return;
    }
    ergon_result_raw(task, seen.at, seen.len);
}
static const struct ergon_handler says = {.size = sizeof says, .kind = ERGON_BLOCKING, .name = "says", .run = run};
ERGON_MODULE(says_module, "says", "1.0")
{
    return ergon_register(module, &says);
}
""")
        with Server("--module", path + ",process,memory=off") as server, server.connect() as client:
            task = client.call("task.submit", "says", [], {"retries": 1, "backoff": "1ms"})["id"]
            ended = client.call("task.wait", [task], {"timeout": "60s"})["ended"][0]
            self.assertEqual((ended["state"], ended["result"], ended["progress"]["text"]), ("done", 42, "half"), ended)
            eventually(lambda: [t["state"] for t in client.call("task.list", {"method": "echo"})["tasks"]] == ["done"], "it was submitted once")

    def test_it_drains_as_any_server(self):
        with Server("--module", spec()) as server:
            client = server.connect()
            call = client.send("harm.nap", "fine")
            self.assertEqual(client.result(call), "fine")
            self.assertEqual(server.stop(), 0)

    def test_a_module_that_is_none(self):
        self.assertIn("cannot be read", self.start_failing("--module", "/nonexistent.so,process"))
        path = os.path.join(self.folder, "empty.so")
        with open(path, "w", encoding="ascii"):
            pass
        self.assertIn("a process of the module " + path + ": cannot load", self.start_failing("--module", path + ",process"))

    def test_a_module_that_ends_as_it_is_loaded(self):
        path = build_handlers(self.folder, "ends", """
#include <ergon/handler.h>
#include <unistd.h>
ERGON_MODULE(ends, "ends", "1.0")
{
    (void)module;
    _exit(0);
}
""")
        self.assertIn("it ended before it said what it brings", self.start_failing("--module", path + ",process"))

    def test_a_module_that_forks_as_it_is_loaded(self):
        path = build_handlers(self.folder, "forks", """
#include <ergon/handler.h>
#include <unistd.h>
static void run(struct ergon_task *task) { ergon_result_nil(task); }
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "forks", .run = run};
ERGON_MODULE(forks, "forks", "1.0")
{
    pid_t own = getpid();
    if (fork() == 0) {
        while (getppid() == own)
            sleep(1);
        _exit(0);
    }
    return ergon_register(module, &handler);
}
""")
        with Server("--module", path + ",process,memory=off") as server, server.connect() as client:
            client.call("forks")

    def test_modules_of_one_name(self):
        other = os.path.join(self.folder, "harm.so")
        shutil.copy(HARM, other)
        self.assertIn("two modules that run in processes are called harm", self.start_failing("--module", spec(), "--module", other + ",process"))

    def test_methods_that_are_there_already(self):
        said = self.start_failing("--module", HARM, "--module", spec())
        self.assertIn("is registered already", said)

    def test_a_module_that_has_more_methods_than_when_the_server_started(self):
        source = """
#include <ergon/handler.h>
static void run(struct ergon_task *task) { ergon_result_nil(task); }
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "%s", .run = run};
ERGON_MODULE(grows, "grows", "1.0")
{
    return ergon_register(module, &handler);
}
"""
        path, new = (build_handlers(self.folder, name, source % name) for name in ("old", "new"))
        kept = os.path.join(self.folder, "kept.so")
        os.link(path, kept)
        with Server("--admin", "http://127.0.0.1:0", "--module", path + ",process,memory=off") as server, server.connect() as client:
            client.call("old")
            os.replace(new, path)
            process, = processes(server)
            os.kill(int(process), signal.SIGKILL)
            eventually(lambda: '\\"new\\" was not among the methods of its module' in server.log_text(), "its offer is refused")
            eventually(lambda: "it has no connection" in server.log_text(), "it waits before the next one")
            said = metrics(server)
            self.assertRegex(said, r'ergon_module_process_failures_total\{module="old"\} [1-9]')
            self.assertIn('ergon_module_process_ends_total{module="old"} 1\n', said)
            os.replace(kept, path)
            client.call("old")

    def test_actors_stay_in_the_server(self):
        path = os.path.join(self.folder, "tally.so")
        build_module(os.path.join(SOURCE, "examples", "actor", "tally.c"), path, "-fPIC", "-I", os.path.join(SOURCE, "include"))
        self.assertIn("load it without `process`", self.start_failing("--module", path + ",process"))

    def test_what_the_configuration_says_wrong(self):
        for flags, says in ((("--module", HARM + ",slots=3"), "the first option of a module is process"),
                            (("--module", HARM + ",process,memory=1m"), "at least 32m"),
                            (("--module", HARM + ",process,stuck=2d"), "from 1s to 1d"),
                            (("--sandbox", "--module", HARM + ",process"), "sandbox_allow: execve")):
            self.assertIn(says, self.start_failing(*flags))

    @unittest.skipIf(SANITIZED, "a sanitizer has no such limit")
    def test_memory_that_is_too_little_for_the_threads(self):
        self.assertIn("its memory=32m is for the stacks of its executors.blocking.count threads",
                      self.start_failing("--blocking", "16", "--module", HARM + ",process,memory=32m"))

    @unittest.skipIf(SANITIZED, "a sanitizer looks into its own process as a debugger does")
    def test_in_the_sandbox(self):
        with Server("--sandbox", "--sandbox-allow", "execve", "--module", spec()) as server, server.connect() as client:
            with self.assertRaises(RemoteError):
                client.call("harm.step", "_exit")
            self.assertEqual(client.call("harm.step", "fine"), "fine")

    def test_by_the_environment(self):
        with Server(demo=False, env={"ERGON_MODULE": f"demo,{HARM};process;memory={MEMORY}"}) as server, server.connect() as client:
            self.assertEqual(client.call("harm.step", "fine"), "fine")


if __name__ == "__main__":
    unittest.main()
